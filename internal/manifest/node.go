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
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// A NodeTemplate is what the members of a cluster have in common.
type NodeTemplate struct {
	// Image is the container image, repository:tag.
	Image string

	// CPU and Memory are request and limit of the container, or empty.
	CPU, Memory string

	// Settings are the rendered settings of this member.
	Settings map[string]string

	// TLSSecret names the Secret to mount, or is empty without TLS.
	TLSSecret string

	// Placement is the cluster's placement.
	Placement *v1alpha1.Placement
}

// Node builds a member that is about to join its cluster.
func Node(c *v1alpha1.ValkeyCluster, name string, shard int32, t NodeTemplate) *v1alpha1.ValkeyNode {
	meta := clusterMeta(c, name, ShardLabels(c.GetName(), shard))
	meta.Finalizers = []string{FinalizerNode}
	return &v1alpha1.ValkeyNode{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.ValkeyNodeGVK.Kind},
		ObjectMeta: meta,
		Spec: v1alpha1.ValkeyNodeSpec{
			ClusterName:    c.GetName(),
			Image:          t.Image,
			CPU:            t.CPU,
			Memory:         t.Memory,
			ValkeySettings: maps.Clone(t.Settings),
			ShardIndex:     shard,
			TLSSecret:      t.TLSSecret,
			Placement:      t.Placement.DeepCopy(),
			Lifecycle:      v1alpha1.LifecycleJoining,
		},
	}
}
