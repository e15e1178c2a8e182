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
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// affinity keeps a pod within its zones.
func affinity(zones []string) *corev1.Affinity {
	if len(zones) == 0 {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key:      corev1.LabelTopologyZone,
					Operator: corev1.NodeSelectorOpIn,
					Values:   zones,
				}},
			}},
		},
	}}
}

// spread spreads each shard over hosts, and over the zones if there are any. The
// spread over hosts never keeps a pod from running.
func spread(n *v1alpha1.ValkeyNode, zones []string, mode v1alpha1.ZoneSpread) []corev1.TopologySpreadConstraint {
	shard := ShardSelector(n.Spec.ClusterName, n.Spec.ShardIndex)
	out := []corev1.TopologySpreadConstraint{constraint(corev1.LabelHostname, corev1.ScheduleAnyway, shard)}
	if len(zones) == 0 {
		return out
	}
	if mode != v1alpha1.ZoneSpreadRequired {
		return append(out, constraint(corev1.LabelTopologyZone, corev1.ScheduleAnyway, shard))
	}
	strict := constraint(corev1.LabelTopologyZone, corev1.DoNotSchedule, shard)
	// Without this a zone that has no nodes at the moment would not count, and a
	// whole shard could land in one zone.
	strict.MinDomains = new(int32(len(zones))) //nolint:gosec // There are few zones.
	return append(out, strict, constraint(corev1.LabelTopologyZone, corev1.ScheduleAnyway, ClusterSelector(n.Spec.ClusterName)))
}

func constraint(key string, action corev1.UnsatisfiableConstraintAction, selector map[string]string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       key,
		WhenUnsatisfiable: action,
		LabelSelector:     &metav1.LabelSelector{MatchLabels: selector},
	}
}

// zonesOf returns the zones of a placement as a set, in a fixed order.
func zonesOf(p *v1alpha1.Placement) []string {
	if p == nil {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(p.Zones)))
}

func zoneSpreadOf(p *v1alpha1.Placement, byDefault v1alpha1.ZoneSpread) v1alpha1.ZoneSpread {
	if p == nil || p.ZoneSpread == "" {
		return byDefault
	}
	return p.ZoneSpread
}
