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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

func TestNextLook(t *testing.T) {
	gone := topology.Member{Pod: topology.PodDead}
	cases := map[string]struct {
		reason string
		plan   topology.Plan
		want   time.Duration
	}{
		"AtRest":   {reason: "Nothing is to be done.", plan: topology.Plan{Converged: true, Reason: topology.ReasonConverged}},
		"Resting":  {reason: "Primaries are spread when the rest is over.", plan: topology.Plan{Converged: true, Rest: 7 * time.Second}, want: 7 * time.Second},
		"Moving":   {reason: "A step that takes its time is followed by the next.", plan: topology.Plan{Actions: []topology.Action{topology.MoveSlots{}}}, want: 50 * time.Millisecond},
		"Starting": {reason: "Kubernetes tells of pods.", plan: topology.Plan{Reason: topology.ReasonStarting}, want: 3 * time.Second},
		"Healing":  {reason: "A shard without a primary does not wait, although the pod of its primary is gone.", plan: topology.Plan{Reason: topology.ReasonHealing}, want: 500 * time.Millisecond},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &external{found: findings{
				template: &template{}, keys: &keys{auth: &corev1.Secret{}},
				plan: tc.plan, members: []topology.Member{gone},
			}}
			if got := e.nextLook(&v1alpha1.ValkeyCluster{}); got != tc.want {
				t.Errorf("%s nextLook(...): got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNamer(t *testing.T) {
	member := func(uid types.UID) *node {
		return &node{obj: &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{UID: uid}}}
	}
	cluster := func(version string) *v1alpha1.ValkeyCluster {
		return &v1alpha1.ValkeyCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u", ResourceVersion: version}}
	}
	first := namer(cluster("1"), "t", []*node{member("a"), member("b")})(0, 0)
	cases := map[string]struct {
		reason string
		got    string
		same   bool
	}{
		"Again":           {"What is asked for twice is made once.", namer(cluster("1"), "t", []*node{member("a"), member("b")})(0, 0), true},
		"AnyOrder":        {"Lists come in any order.", namer(cluster("1"), "t", []*node{member("b"), member("a")})(0, 0), true},
		"Second":          {"Members made in one pass are told apart.", namer(cluster("1"), "t", []*node{member("a"), member("b")})(0, 1), false},
		"AnotherShard":    {"So are those of shards.", namer(cluster("1"), "t", []*node{member("a"), member("b")})(1, 0), false},
		"AnotherTemplate": {"A change under way gives other members.", namer(cluster("1"), "s", []*node{member("a"), member("b")})(0, 0), false},
		"OneLeft":         {"The names of those that left are cached.", namer(cluster("1"), "t", []*node{member("a")})(0, 0), false},
		"SameSetLater":    {"One came and left since.", namer(cluster("2"), "t", []*node{member("a"), member("b")})(0, 0), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if same := tc.got == first; same != tc.same {
				t.Errorf("%s the name is the same: %v, want %v", tc.reason, same, tc.same)
			}
		})
	}
}
