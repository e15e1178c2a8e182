// Copyright 2026 The provider-valkey Authors.
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ValkeyImageSpec names a permitted container image.
type ValkeyImageSpec struct {
	// Repository of the image, for example valkey/valkey.
	Repository string `json:"repository"`

	// Tag of the image, for example 9.0.1.
	Tag string `json:"tag"`

	// Version is the Valkey version that the image provides.
	Version string `json:"version"`
}

// CatalogStatus is the observed state of a catalog kind. It is reserved.
type CatalogStatus struct{}

// A ValkeyImage is an allowlist entry for a container image.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={valkey}
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repository`
// +kubebuilder:printcolumn:name="Tag",type=string,JSONPath=`.spec.tag`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
type ValkeyImage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the image.
	Spec ValkeyImageSpec `json:"spec"`

	// Status is the observed state of the image.
	// +optional
	Status CatalogStatus `json:"status,omitempty"`
}

// ValkeyImageList is a list of ValkeyImages.
// +kubebuilder:object:root=true
type ValkeyImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ValkeyImage `json:"items"`
}

// ConfigResources is the compute size of a member.
type ConfigResources struct {
	// CPU is request and limit of the Valkey container, for example "1".
	// +optional
	CPU string `json:"cpu,omitempty"`

	// Memory is request and limit of the Valkey container, for example 2Gi.
	// +optional
	Memory string `json:"memory,omitempty"`
}

// ValkeyConfigSpec is one entry of the platform's menu.
type ValkeyConfigSpec struct {
	// ImageRef names a ValkeyImage. It may come from the base instead.
	// +optional
	ImageRef string `json:"imageRef,omitempty"`

	// BaseRef names the ValkeyConfig that this one inherits from. A chain may be
	// at most 10 configs long.
	// +optional
	BaseRef string `json:"baseRef,omitempty"`

	// Resources of the Valkey container.
	// +optional
	Resources *ConfigResources `json:"resources,omitempty"`

	// Valkey holds engine settings. They merge with the base's key by key.
	// +optional
	Valkey map[string]string `json:"valkey,omitempty"`

	// ACL lists users of every cluster with this config. When set, also to an
	// empty list, it replaces the base's list.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.username == b.username))",message="duplicate username in ACL bindings"
	// +optional
	ACL *[]ACLBinding `json:"acl,omitempty"`
}

// A ValkeyConfig is a configuration that product teams choose by name.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={valkey}
// +kubebuilder:printcolumn:name="ImageRef",type=string,JSONPath=`.spec.imageRef`
// +kubebuilder:printcolumn:name="BaseRef",type=string,JSONPath=`.spec.baseRef`
type ValkeyConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the config.
	Spec ValkeyConfigSpec `json:"spec"`

	// Status is the observed state of the config.
	// +optional
	Status CatalogStatus `json:"status,omitempty"`
}

// ValkeyConfigList is a list of ValkeyConfigs.
// +kubebuilder:object:root=true
type ValkeyConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ValkeyConfig `json:"items"`
}

// A RuleAccess allows or denies a command or category.
// +kubebuilder:validation:Enum=allow;deny
type RuleAccess string

// Accesses of a rule.
const (
	AccessAllow RuleAccess = "allow"
	AccessDeny  RuleAccess = "deny"
)

// A CommandName is the name of a command, subcommand or category.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9_-]*$`
type CommandName string

// A CategoryRule allows or denies a command category.
type CategoryRule struct {
	// Name of the category, without the @ prefix.
	Name CommandName `json:"name"`

	// Access is allow or deny.
	Access RuleAccess `json:"access"`
}

// A CommandRule allows or denies a command or one of its subcommands.
type CommandRule struct {
	// Name of the command.
	Name CommandName `json:"name"`

	// Subcommand restricts the rule to one subcommand.
	// +optional
	Subcommand CommandName `json:"subcommand,omitempty"`

	// Access is allow or deny.
	Access RuleAccess `json:"access"`
}

// ValkeyRoleSpec is a reusable set of command permissions.
type ValkeyRoleSpec struct {
	// Categories are rendered first, in order.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Categories []CategoryRule `json:"categories,omitempty"`

	// Commands are rendered after the categories, in order.
	// +kubebuilder:validation:MaxItems=256
	// +optional
	Commands []CommandRule `json:"commands,omitempty"`
}

// A ValkeyRole is a reusable permission template without keys or users.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={valkey}
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ValkeyRole struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the role.
	Spec ValkeyRoleSpec `json:"spec"`

	// Status is the observed state of the role.
	// +optional
	Status CatalogStatus `json:"status,omitempty"`
}

// ValkeyRoleList is a list of ValkeyRoles.
// +kubebuilder:object:root=true
type ValkeyRoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ValkeyRole `json:"items"`
}
