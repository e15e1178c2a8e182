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
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Lifecycle is the phase of a member's life.
// +kubebuilder:validation:Enum=Active;Joining;Leaving
type Lifecycle string

// Lifecycle phases of a ValkeyNode.
const (
	LifecycleActive  Lifecycle = "Active"
	LifecycleJoining Lifecycle = "Joining"
	LifecycleLeaving Lifecycle = "Leaving"
)

// ValkeyNodeSpec is the resolved state of one member. All but Lifecycle is
// immutable: a change of a member is a new member.
type ValkeyNodeSpec struct {
	// ClusterName names the ValkeyCluster that the member belongs to.
	ClusterName string `json:"clusterName"`

	// Image is the resolved container image, repository:tag.
	Image string `json:"image"`

	// CPU is request and limit of the Valkey container.
	// +optional
	CPU string `json:"cpu,omitempty"`

	// Memory is request and limit of the Valkey container.
	// +optional
	Memory string `json:"memory,omitempty"`

	// ValkeySettings are the rendered settings, forced ones included.
	// +optional
	ValkeySettings map[string]string `json:"valkeySettings,omitempty"`

	// ShardIndex is the shard that the member serves. It is the provider's own
	// number and not Valkey's shard id.
	// +kubebuilder:validation:Minimum=0
	ShardIndex int32 `json:"shardIndex"`

	// TLSSecret names the Secret that the pod mounts when the cluster has TLS.
	// +optional
	TLSSecret string `json:"tlsSecret,omitempty"`

	// Placement is the cluster's placement when the member was made.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// Lifecycle is Joining until the member is synced, then Active, and Leaving
	// while it is drained and retired.
	// +kubebuilder:default=Active
	// +optional
	Lifecycle Lifecycle `json:"lifecycle,omitempty"`
}

// A NodeRole is the replication role of a member.
type NodeRole string

// Roles of a member.
const (
	RolePrimary NodeRole = "primary"
	RoleReplica NodeRole = "replica"
)

// ValkeyNodeStatus is the observed state of a ValkeyNode.
type ValkeyNodeStatus struct {
	xpv2.ConditionedStatus `json:",inline"`

	// NodeID is the Valkey node id of the member's process.
	// +optional
	NodeID string `json:"nodeID,omitempty"`

	// Role is the replication role, primary or replica.
	// +optional
	Role NodeRole `json:"role,omitempty"`

	// RoleSince is the time since which the member is known to have its role.
	// +optional
	RoleSince *metav1.Time `json:"roleSince,omitempty"`

	// PodIP is the address of the member's pod.
	// +optional
	PodIP string `json:"podIP,omitempty"`

	// PodUID is the UID of the one pod that the member ever has.
	// +optional
	PodUID string `json:"podUID,omitempty"`

	// Message explains what the member waits for or why it failed.
	// +optional
	Message string `json:"message,omitempty"`

	// ObservedGeneration is the generation that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// LastHandledReconcileAt is the token of the latest annotation
	// crossplane.io/reconcile-requested-at that was handled.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
}

// A ValkeyNode records one member of a ValkeyCluster. The provider makes,
// changes and deletes ValkeyNodes; users only read them.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,valkey},shortName=vkn
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Lifecycle",type=string,JSONPath=`.spec.lifecycle`
type ValkeyNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the resolved state of the member.
	// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName",message="clusterName is immutable: a member of a cluster is changed by replacing it"
	// +kubebuilder:validation:XValidation:rule="self.image == oldSelf.image",message="image is immutable: a member of a cluster is changed by replacing it"
	// +kubebuilder:validation:XValidation:rule="has(self.cpu) == has(oldSelf.cpu) && (!has(self.cpu) || self.cpu == oldSelf.cpu)",message="cpu is immutable: a member of a cluster is changed by replacing it"
	// +kubebuilder:validation:XValidation:rule="has(self.memory) == has(oldSelf.memory) && (!has(self.memory) || self.memory == oldSelf.memory)",message="memory is immutable: a member of a cluster is changed by replacing it"
	// +kubebuilder:validation:XValidation:rule="has(self.valkeySettings) == has(oldSelf.valkeySettings) && (!has(self.valkeySettings) || self.valkeySettings == oldSelf.valkeySettings)",message="valkeySettings is immutable: a member of a cluster is changed by replacing it"
	// +kubebuilder:validation:XValidation:rule="self.shardIndex == oldSelf.shardIndex",message="shardIndex is immutable: a member of a cluster is changed by replacing it"
	// +kubebuilder:validation:XValidation:rule="has(self.tlsSecret) == has(oldSelf.tlsSecret) && (!has(self.tlsSecret) || self.tlsSecret == oldSelf.tlsSecret)",message="tlsSecret is immutable: a member of a cluster is changed by replacing it"
	// +kubebuilder:validation:XValidation:rule="has(self.placement) == has(oldSelf.placement) && (!has(self.placement) || self.placement == oldSelf.placement)",message="placement is immutable: a member of a cluster is changed by replacing it"
	Spec ValkeyNodeSpec `json:"spec"`

	// Status is the observed state of the member.
	// +optional
	Status ValkeyNodeStatus `json:"status,omitempty"`
}

// ValkeyNodeList is a list of ValkeyNodes.
// +kubebuilder:object:root=true
type ValkeyNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ValkeyNode `json:"items"`
}
