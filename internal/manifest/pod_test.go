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
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

func TestPodSpread(t *testing.T) {
	const host, zone = corev1.LabelHostname, corev1.LabelTopologyZone
	type spread struct {
		Key, Action string
		Shard       bool
		MinDomains  int32
	}
	hosts := spread{host, "ScheduleAnyway", true, 0}
	required := []spread{hosts, {zone, "DoNotSchedule", true, 2}, {zone, "ScheduleAnyway", false, 0}}
	bestEffort := []spread{hosts, {zone, "ScheduleAnyway", true, 0}}
	zones := []string{"b", "a", "a"}
	cases := map[string]struct {
		reason    string
		placement *v1alpha1.Placement
		byDefault v1alpha1.ZoneSpread
		want      []spread
	}{
		"NoPlacement":       {"Every pod spreads over hosts.", nil, v1alpha1.ZoneSpreadRequired, []spread{hosts}},
		"NoZones":           {"Without zones there is nothing else to spread over.", &v1alpha1.Placement{ZoneSpread: v1alpha1.ZoneSpreadRequired}, "", []spread{hosts}},
		"BestEffort":        {"A pod runs even where it cannot spread.", &v1alpha1.Placement{Zones: zones, ZoneSpread: v1alpha1.ZoneSpreadBestEffort}, v1alpha1.ZoneSpreadRequired, bestEffort},
		"Required":          {"A pod waits, and the cluster as a whole spreads too.", &v1alpha1.Placement{Zones: zones, ZoneSpread: v1alpha1.ZoneSpreadRequired}, v1alpha1.ZoneSpreadBestEffort, required},
		"DefaultRequired":   {"The provider's default holds where a cluster does not say.", &v1alpha1.Placement{Zones: zones}, v1alpha1.ZoneSpreadRequired, required},
		"DefaultBestEffort": {"Either way.", &v1alpha1.Placement{Zones: zones}, v1alpha1.ZoneSpreadBestEffort, bestEffort},
		"NoDefault":         {"Without one a pod is never kept from running.", &v1alpha1.Placement{Zones: zones}, "", bestEffort},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(func(n *v1alpha1.ValkeyNode) { n.Spec.Placement = tc.placement })
			var got []spread
			for _, c := range Pod(n, PodOptions{DefaultZoneSpread: tc.byDefault}).Spec.TopologySpreadConstraints {
				s := spread{Key: c.TopologyKey, Action: string(c.WhenUnsatisfiable), Shard: c.LabelSelector.MatchLabels[LabelShardIndex] == "2"}
				if c.MinDomains != nil {
					s.MinDomains = *c.MinDomains
				}
				if c.MaxSkew != 1 || c.LabelSelector.MatchLabels[LabelInstance] != "cache" {
					t.Errorf("%s: unexpected constraint %v", tc.reason, c)
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPodZones(t *testing.T) {
	zones := []string{"b", "a", "b"}
	p := Pod(node(place(v1alpha1.Placement{Zones: zones})), PodOptions{})
	got := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("zones are a set: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "a", "b"}, zones); diff != "" {
		t.Errorf("the member's own zones changed: -want +got:\n%s", diff)
	}
	if Pod(node(nil), PodOptions{}).Spec.Affinity != nil {
		t.Errorf("a pod without zones has an affinity")
	}
}

func TestPodResources(t *testing.T) {
	cases := map[string]struct {
		reason, cpu, memory string
		want                corev1.ResourceList
	}{
		"None":   {"Nothing is limited.", "", "", nil},
		"CPU":    {"Each is set on its own.", "1", "", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		"Both":   {"Both are.", "500m", "2Gi", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("2Gi")}},
		"Broken": {"A bad value does not take the provider down.", "x", "2GiB", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(func(n *v1alpha1.ValkeyNode) { n.Spec.CPU, n.Spec.Memory = tc.cpu, tc.memory })
			got := Pod(n, PodOptions{}).Spec.Containers[0].Resources
			if diff := cmp.Diff(corev1.ResourceRequirements{Requests: tc.want, Limits: tc.want}, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPodSharesNothing(t *testing.T) {
	annotations := map[string]string{"a": "1"}
	n := node(place(v1alpha1.Placement{NodeSelector: map[string]string{"pool": "x"}}))
	p := Pod(n, PodOptions{Annotations: annotations})
	p.Annotations["b"] = "2"
	p.Spec.NodeSelector["zone"] = "y"
	if len(annotations) != 1 || len(n.Spec.Placement.NodeSelector) != 1 {
		t.Errorf("a change of the pod reached %v or %v, which may be a cache", annotations, n.Spec.Placement.NodeSelector)
	}
}

func TestNodeSharesNothing(t *testing.T) {
	tmpl := NodeTemplate{Settings: map[string]string{"a": "1"}, Placement: &v1alpha1.Placement{Zones: []string{"a"}}}
	n := Node(cluster(), "cache-01234", 0, tmpl)
	n.Spec.ValkeySettings["b"] = "2"
	n.Spec.Placement.Zones[0] = "b"
	if len(tmpl.Settings) != 1 || tmpl.Placement.Zones[0] != "a" {
		t.Errorf("a change of the node reached the template %v", tmpl)
	}
}
