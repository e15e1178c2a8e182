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
