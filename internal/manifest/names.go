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

// Package manifest builds the Kubernetes objects of a cluster. It is pure: the
// same input gives the same object, and nothing is read or written.
package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// Labels of all objects. Users select on them, so they stay as they are.
const (
	LabelName       = "app.kubernetes.io/name"
	LabelInstance   = "app.kubernetes.io/instance"
	LabelManagedBy  = "app.kubernetes.io/managed-by"
	LabelShardIndex = "valkey.gomomento.com/shard-index"

	// AppName is the value of LabelName.
	AppName = "valkey"

	// ManagedBy is the value of LabelManagedBy. The provider's caches hold only
	// objects with it.
	ManagedBy = "provider-valkey"
)

const (
	// FinalizerCluster keeps a ValkeyCluster until it is cleaned up.
	FinalizerCluster = "valkey.gomomento.com/cleanup"

	// FinalizerNode keeps a ValkeyNode until the cluster no longer needs the
	// member and has forgotten it.
	FinalizerNode = "valkey.gomomento.com/node-cleanup"

	// ReadinessGate is the condition by which the provider makes a pod ready: it
	// is a member in good order.
	ReadinessGate = "valkey.gomomento.com/member"

	// AnnotationRotate on a ValkeyCluster asks for new passwords of the system
	// users, with each new value once.
	AnnotationRotate = "valkey.gomomento.com/rotate-passwords"

	// AnnotationRotatedFor on the Secret with the passwords is the value for which
	// they were last replaced.
	AnnotationRotatedFor = "valkey.gomomento.com/rotated-for"

	// AnnotationPasswordsMade on the same Secret is when the passwords were made.
	AnnotationPasswordsMade = "valkey.gomomento.com/passwords-made"

	// AnnotationRollPriority on a ValkeyCluster is an integer: where more clusters
	// have to replace members than may at once, the highest come first.
	AnnotationRollPriority = "valkey.gomomento.com/roll-priority"

	// AnnotationRetired marks a member that left its cluster for good.
	AnnotationRetired = "valkey.gomomento.com/retired"
)

// Keys of the Secrets.
const (
	KeyOperatorPassword = "operator-password"
	KeyReplPassword     = "repl-password"
	KeyACLFile          = "users.acl"
	KeyConf             = "valkey.conf"
	KeyPreviousCA       = "previous-ca.crt"

	// While passwords are replaced there are two of each. See the controller of
	// ValkeyClusters.
	KeyNextOperatorPassword     = "next-operator-password"
	KeyNextReplPassword         = "next-repl-password" //nolint:gosec // The name of a key.
	KeyPreviousOperatorPassword = "previous-operator-password"
	KeyPreviousReplPassword     = "previous-repl-password" //nolint:gosec // The name of a key.
)

// maxClusterName leaves room for the suffix of a member in a host name.
const maxClusterName = validation.DNS1123LabelMaxLength - len("-01234")

// ServiceName names the headless Service of a cluster.
func ServiceName(cluster string) string { return cluster }

// AuthSecretName names the Secret with the system users' passwords.
func AuthSecretName(cluster string) string { return cluster + "-operator-auth" }

// AuthBackupName names the second copy of the Secret with the system users'
// passwords.
func AuthBackupName(cluster string) string { return cluster + "-operator-auth-backup" }

// ACLSecretName names the Secret with the ACL file.
func ACLSecretName(cluster string) string { return cluster + "-acl" }

// TLSSecretName names the provider's checked copy of a user's TLS Secret. The
// name differs from what users commonly choose.
func TLSSecretName(cluster string) string { return cluster + "-operator-tls" }

// ConfigSecretName names the Secret with a member's valkey.conf.
func ConfigSecretName(node string) string { return node + "-config" }

// PDBName names the PodDisruptionBudget of a shard.
func PDBName(cluster string, shard int32) string { return fmt.Sprintf("%s-shard-%d", cluster, shard) }

// NetworkPolicyName names the NetworkPolicy of a cluster.
func NetworkPolicyName(cluster string) string { return cluster }

// NodeName derives a member's name from a seed. The same seed gives the same
// name, so that a member that was asked for twice is made once.
func NodeName(cluster, seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return cluster + "-" + hex.EncodeToString(sum[:])[:5]
}

// CheckClusterName reports why a cluster's name cannot become the name of a
// Service and the beginning of host names, or "" if it can.
func CheckClusterName(cluster string) string {
	if len(cluster) > maxClusterName {
		return fmt.Sprintf("the name of a ValkeyCluster may have at most %d characters, since its pods' host names begin with it", maxClusterName)
	}
	if msgs := validation.IsDNS1035Label(cluster); len(msgs) > 0 {
		return "the name of a ValkeyCluster becomes the name of a Service: " + msgs[0]
	}
	return ""
}

// ClusterLabels returns the labels of all objects of a cluster.
func ClusterLabels(cluster string) map[string]string {
	return map[string]string{LabelName: AppName, LabelInstance: cluster, LabelManagedBy: ManagedBy}
}

// MadeByUs tells whether the provider made an object, by its label.
func MadeByUs(o metav1.Object) bool { return o.GetLabels()[LabelManagedBy] == ManagedBy }

// ShardLabels returns the labels of the objects of one shard.
func ShardLabels(cluster string, shard int32) map[string]string {
	l := ClusterLabels(cluster)
	l[LabelShardIndex] = fmt.Sprint(shard)
	return l
}

// ClusterSelector returns labels that select the pods of a cluster.
func ClusterSelector(cluster string) map[string]string {
	return map[string]string{LabelName: AppName, LabelInstance: cluster}
}

// ShardSelector returns labels that select the pods of a shard.
func ShardSelector(cluster string, shard int32) map[string]string {
	s := ClusterSelector(cluster)
	s[LabelShardIndex] = fmt.Sprint(shard)
	return s
}

// clusterMeta describes an object that goes when its cluster does.
func clusterMeta(c *v1alpha1.ValkeyCluster, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       c.GetNamespace(),
		Labels:          labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.ValkeyClusterGVK)},
	}
}

// nodeMeta describes an object that goes when its member does.
func nodeMeta(n *v1alpha1.ValkeyNode, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       n.GetNamespace(),
		Labels:          ShardLabels(n.Spec.ClusterName, n.Spec.ShardIndex),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(n, v1alpha1.ValkeyNodeGVK)},
	}
}
