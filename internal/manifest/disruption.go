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

package manifest

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// PodDisruptionBudget builds the budget of a shard with a number of members. It
// lets one member go at a time and never the last: a shard of one is replaced
// before its pod may be evicted.
//
// It counts what must stay. The number that may go is not to be had for bare
// pods: Kubernetes would ask their owner for a scale, and ValkeyNodes have none.
func PodDisruptionBudget(c *v1alpha1.ValkeyCluster, shard int32, members int) *policyv1.PodDisruptionBudget {
	stay := intstr.FromInt32(int32(max(1, members-1))) //nolint:gosec // A shard has few members.
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: clusterMeta(c, PDBName(c.GetName(), shard), ShardLabels(c.GetName(), shard)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &stay,
			Selector:     &metav1.LabelSelector{MatchLabels: ShardSelector(c.GetName(), shard)},
		},
	}
}
