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
)

func TestTransition(t *testing.T) {
	three, five := v1alpha1.ValkeyClusterSpec{ConfigRef: "c", Shards: 3}, v1alpha1.ValkeyClusterSpec{ConfigRef: "c", Shards: 5}
	type result struct {
		Transition transition
		Shards     int
	}
	cases := map[string]struct {
		reason  string
		spec    v1alpha1.ValkeyClusterSpec
		status  v1alpha1.ValkeyClusterStatus
		problem string
		active  bool
		want    result
	}{
		"NewIsCreating": {
			reason: "a cluster without a state enters Creating and its spec is snapshotted",
			spec:   three,
			want:   result{transition{State: v1alpha1.StateCreating, TargetSpec: &three}, 3},
		},
		"EditWhileCreatingIsDeferred": {
			reason: "while Creating the snapshot counts, not the edited spec",
			spec:   five,
			status: v1alpha1.ValkeyClusterStatus{State: v1alpha1.StateCreating, TargetSpec: &three},
			want:   result{transition{State: v1alpha1.StateCreating, TargetSpec: &three}, 3},
		},
		"FormedIsActive": {
			reason: "a snapshot is cleared when the cluster becomes Active",
			spec:   five,
			status: v1alpha1.ValkeyClusterStatus{State: v1alpha1.StateCreating, TargetSpec: &three},
			active: true,
			want:   result{transition{State: v1alpha1.StateActive}, 3},
		},
		"ActiveStaysActive": {
			reason: "scaling, rolling and healing happen under Active",
			spec:   five,
			status: v1alpha1.ValkeyClusterStatus{State: v1alpha1.StateActive},
			want:   result{transition{State: v1alpha1.StateActive}, 5},
		},
		"ProblemIsInvalid": {
			reason:  "a broken reference makes every state Invalid",
			spec:    three,
			status:  v1alpha1.ValkeyClusterStatus{State: v1alpha1.StateActive},
			problem: "broken",
			active:  true,
			want:    result{transition{State: v1alpha1.StateInvalid, Message: "broken"}, 3},
		},
		"InvalidRecoversThroughCreating": {
			reason: "from Invalid a cluster passes through Creating with a new snapshot",
			spec:   five,
			status: v1alpha1.ValkeyClusterStatus{State: v1alpha1.StateInvalid, Message: "broken"},
			want:   result{transition{State: v1alpha1.StateCreating, TargetSpec: &five}, 5},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.ValkeyCluster{Spec: tc.spec, Status: tc.status}
			tr := enter(c, tc.problem)
			shards, _ := tr.topologyOf(c)
			got := result{tr.leave(tc.active), shards}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nenter, leave: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSnapshotIsSmall(t *testing.T) {
	c := &v1alpha1.ValkeyCluster{Spec: v1alpha1.ValkeyClusterSpec{ACL: make([]v1alpha1.ACLBinding, 64)}}
	if got := enter(c, "").TargetSpec.ACL; got != nil {
		t.Errorf("a snapshot with all ACL bindings may be too large for etcd, got %d of them", len(got))
	}
	if len(c.Spec.ACL) != 64 {
		t.Error("the spec itself must keep its bindings")
	}
}
