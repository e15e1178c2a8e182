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

// A ZoneSpread says how strictly each shard is spread over zones.
// +kubebuilder:validation:Enum=bestEffort;required
type ZoneSpread string

// Zone spread modes.
const (
	ZoneSpreadBestEffort ZoneSpread = "bestEffort"
	ZoneSpreadRequired   ZoneSpread = "required"
)

// Placement constrains where the pods of a cluster may run.
type Placement struct {
	// Zones restricts the pods to these availability zones and spreads every
	// shard over them.
	// +optional
	Zones []string `json:"zones,omitempty"`

	// ZoneSpread is bestEffort (schedule anyway) or required (stay Pending until
	// the spread is possible). Unset means the provider's default.
	// +optional
	ZoneSpread ZoneSpread `json:"zoneSpread,omitempty"`

	// NodeSelector is copied to the pods' nodeSelector.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// TLS configures a TLS-only cluster.
type TLS struct {
	// SecretRef names a kubernetes.io/tls Secret in the cluster's namespace with
	// the keys tls.crt, tls.key and ca.crt. It may be changed to rotate.
	SecretRef string `json:"secretRef"`
}

// ValkeyClusterSpec is the desired state of a ValkeyCluster.
type ValkeyClusterSpec struct {
	// ConfigRef names the ValkeyConfig that the cluster runs.
	ConfigRef string `json:"configRef"`

	// Shards is the number of shards, each with its own range of hash slots.
	// +kubebuilder:validation:Minimum=1
	Shards int32 `json:"shards"`

	// ReplicasPerShard is the number of replicas of each primary.
	// +kubebuilder:validation:Minimum=0
	ReplicasPerShard int32 `json:"replicasPerShard"`

	// ACL lists the Valkey users of this cluster, in addition to those of its
	// ValkeyConfig. A username may be used only once over both.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.username == b.username))",message="duplicate username in ACL bindings"
	// +optional
	ACL []ACLBinding `json:"acl,omitempty"`

	// Placement constrains zones and nodes of the cluster's pods.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// TLS makes the cluster TLS-only. It can be set only at creation.
	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// PodAnnotations are copied to every pod. Added and changed keys reach
	// running pods in place, removed keys leave a pod when it is next replaced.
	// Keys that start with valkey.gomomento.com/ belong to the provider.
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('valkey.gomomento.com/'))",message="podAnnotations must not have a key that starts with valkey.gomomento.com/, which is reserved for the provider"
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// WriteConnectionSecretToReference names a Secret in the cluster's namespace
	// that receives the connection details.
	// +optional
	WriteConnectionSecretToReference *xpv2.LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`

	// ManagementPolicies are the actions the provider may take. ["Observe"]
	// makes it only say what it would do.
	// +kubebuilder:default={"*"}
	// +optional
	ManagementPolicies xpv2.ManagementPolicies `json:"managementPolicies,omitempty"`
}

// A ClusterState is the lifecycle state of a ValkeyCluster.
// +kubebuilder:validation:Enum=Creating;Active;Updating;Invalid
type ClusterState string

// States of a ValkeyCluster. StateUpdating is reserved and never set.
const (
	StateCreating ClusterState = "Creating"
	StateActive   ClusterState = "Active"
	StateUpdating ClusterState = "Updating"
	StateInvalid  ClusterState = "Invalid"
)

// A Roll says where a cluster stands in the line of those that want to replace
// their members. The provider bounds how many do so at once.
type Roll struct {
	// Since is when the cluster got its place among those that roll. It is unset
	// while it has none.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Stalled says what the cluster waited for when it gave its place up to others.
	// +optional
	Stalled string `json:"stalled,omitempty"`

	// StalledFor identifies the change with which it stalled. After another change
	// it counts as one that has not had its turn.
	// +optional
	StalledFor string `json:"stalledFor,omitempty"`

	// StalledAt is when it gave its place up. Of those that stalled, the one that
	// did so first has its next turn first.
	// +optional
	StalledAt *metav1.Time `json:"stalledAt,omitempty"`
}

// ValkeyClusterStatus is the observed state of a ValkeyCluster.
type ValkeyClusterStatus struct {
	xpv2.ConditionedStatus `json:",inline"`

	// State is the high-level lifecycle state.
	// +kubebuilder:default=Creating
	// +optional
	State ClusterState `json:"state,omitempty"`

	// TargetSpec is the spec that a bootstrap works toward.
	// +optional
	TargetSpec *ValkeyClusterSpec `json:"targetSpec,omitempty"`

	// Nodes lists the names of the cluster's members, sorted.
	// +optional
	Nodes []string `json:"nodes,omitempty"`

	// Roll is there while the cluster replaces its members, and after it gave up
	// its place to do so.
	// +optional
	Roll *Roll `json:"roll,omitempty"`

	// Message explains the state.
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

// A ValkeyCluster is a product team's request for a Valkey cluster.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,valkey},shortName=vkc
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 57 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be usable as the name of a Service, which means lowercase letters, digits and hyphens, a letter first and no hyphen last, and must have at most 57 characters, since the hostname of each pod appends 6 to it"
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.spec.configRef`
// +kubebuilder:printcolumn:name="Shards",type=integer,JSONPath=`.spec.shards`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicasPerShard`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
type ValkeyCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// A rule on updates belongs to this field and not to the type of it, since
	// status.targetSpec has the same type and must stay free to change.

	// Spec is the desired state of the cluster.
	// +kubebuilder:validation:XValidation:rule="has(self.tls) == has(oldSelf.tls)",message="tls cannot be added to or removed from an existing cluster, only its secretRef may change"
	Spec ValkeyClusterSpec `json:"spec"`

	// Status is the observed state of the cluster.
	// +optional
	Status ValkeyClusterStatus `json:"status,omitempty"`
}

// ValkeyClusterList is a list of ValkeyClusters.
// +kubebuilder:object:root=true
type ValkeyClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ValkeyCluster `json:"items"`
}
