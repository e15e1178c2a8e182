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

package valkeycluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

func TestDifference(t *testing.T) {
	base := func() v1alpha1.ValkeyNodeSpec {
		return v1alpha1.ValkeyNodeSpec{
			Image: "valkey/valkey:9.1", CPU: "1", Memory: "1Gi",
			ValkeySettings: map[string]string{"maxmemory": "1gb", "cluster-announce-hostname": "n1.c"},
			Placement:      &v1alpha1.Placement{Zones: []string{"b", "a"}, NodeSelector: map[string]string{"pool": "x"}},
		}
	}
	tmpl := &template{manifest.NodeTemplate{
		Image: "valkey/valkey:9.1", CPU: "1000m", Memory: "1024Mi",
		Settings:  map[string]string{"maxmemory": "1gb"},
		Placement: &v1alpha1.Placement{Zones: []string{"a", "b", "a"}, NodeSelector: map[string]string{"pool": "x"}, ZoneSpread: v1alpha1.ZoneSpreadRequired},
	}}
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ValkeyNodeSpec)
		want   string
	}{
		"Same": {
			reason: "equal amounts, zones as a set, a per-member setting and the zone spread make no difference",
			change: func(*v1alpha1.ValkeyNodeSpec) {},
		},
		"Image": {
			reason: "another image rolls", change: func(s *v1alpha1.ValkeyNodeSpec) { s.Image = "valkey/valkey:8.1" },
			want: "image valkey/valkey:8.1 instead of valkey/valkey:9.1",
		},
		"CPU": {
			reason: "another amount of CPU rolls", change: func(s *v1alpha1.ValkeyNodeSpec) { s.CPU = "" },
			want: `cpu "" instead of "1000m"`,
		},
		"Memory": {
			reason: "another amount of memory rolls", change: func(s *v1alpha1.ValkeyNodeSpec) { s.Memory = "2Gi" },
			want: `memory "2Gi" instead of "1024Mi"`,
		},
		"SettingChangedAddedRemoved": {
			reason: "every difference in settings is named",
			change: func(s *v1alpha1.ValkeyNodeSpec) { s.ValkeySettings = map[string]string{"save": ""} },
			want:   "settings changed: maxmemory, save",
		},
		"Zones": {
			reason: "other zones roll", change: func(s *v1alpha1.ValkeyNodeSpec) { s.Placement.Zones = nil },
			want: "zones [] instead of [a b]",
		},
		"NodeSelector": {
			reason: "another nodeSelector rolls", change: func(s *v1alpha1.ValkeyNodeSpec) { s.Placement.NodeSelector = nil },
			want: "nodeSelector map[] instead of map[pool:x]",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := &v1alpha1.ValkeyNode{Spec: base()}
			tc.change(&n.Spec)
			if diff := cmp.Diff(tc.want, tmpl.difference(n)); diff != "" {
				t.Errorf("\n%s\ndifference: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTemplateHash(t *testing.T) {
	a := &template{manifest.NodeTemplate{Image: "i", Settings: map[string]string{"k": "v"}}}
	same := &template{manifest.NodeTemplate{Image: "i", Settings: map[string]string{"k": "v"}, Placement: &v1alpha1.Placement{ZoneSpread: v1alpha1.ZoneSpreadRequired}}}
	other := &template{manifest.NodeTemplate{Image: "j", Settings: map[string]string{"k": "v"}}}
	if a.hash() != same.hash() {
		t.Error("the zone spread does not make a member outdated and must not change the hash")
	}
	if a.hash() == other.hash() {
		t.Error("another image is another template")
	}
}
