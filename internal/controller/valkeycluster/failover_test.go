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
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

func TestIsMember(t *testing.T) {
	nodes := []*node{{obj: &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: "a-0"}, Status: v1alpha1.ValkeyNodeStatus{NodeID: "id-0"}}}}
	cases := map[string]struct {
		reason  string
		id, old string
		want    bool
	}{
		"Still":   {"nothing has changed since the plan was made", "id-0", "a-0", true},
		"Another": {"Valkey has promoted another replica meanwhile", "id-1", "a-0", false},
		"Itself":  {"a replica that was promoted follows nobody", "", "a-0", false},
		"Unknown": {"a primary whose record is gone cannot be compared", "id-9", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (&findings{nodes: nodes}).isMember(tc.old, tc.id); got != tc.want {
				t.Errorf("%s\nisMember(...): got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// following returns a member whose server runs and follows a primary.
func following(name, primaryID string, edits ...func(*node)) *node {
	n := &node{
		obj: &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.ValkeyNodeStatus{NodeID: "id-" + name}},
		pod: &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{{
			Name: common.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}},
		state: &valkey.State{Nodes: []valkey.PeerNode{{ID: "id-" + name, Myself: true, PrimaryID: primaryID}}},
	}
	for _, e := range edits {
		e(n)
	}
	return n
}

func silent(n *node) { n.state = nil }

func noPod(n *node) { n.pod = nil }

func shard(i int32) func(*node) { return func(n *node) { n.obj.Spec.ShardIndex = i } }

func TestTurn(t *testing.T) {
	errBoom := errors.New("boom")
	happens := func(context.Context) (bool, error) { return true, nil }
	gone := func(context.Context) (bool, error) { return false, errBoom }
	cases := map[string]struct {
		reason string
		order  error
		first  func(context.Context) (bool, error)
		want   error
		// asked tells whether the second one is asked whether it has happened.
		asked bool
	}{
		"Happens": {reason: "Each is waited for.", first: happens, asked: true},
		"Refused": {reason: "What was not ordered is not waited for, and the next one has its turn.", order: errBoom, first: gone, want: errBoom, asked: true},
		"DoesNot": {reason: "One that may never happen holds up the others once.", first: gone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			turn, asked := turn{}, false
			if err := turn.take(t.Context(), func() error { return tc.order }, tc.first); !errors.Is(err, tc.want) {
				t.Errorf("%s take(...): want error %v, got %v", tc.reason, tc.want, err)
			}
			err := turn.take(t.Context(), func() error { return nil }, func(context.Context) (bool, error) { asked = true; return true, nil })
			if err != nil || asked != tc.asked {
				t.Errorf("%s take(...) of the next one: got error %v, asked %v, want %v", tc.reason, err, asked, tc.asked)
			}
		})
	}
}

func TestTurnIsOfOne(t *testing.T) {
	turn, elections, g := turn{}, atomic.Int32{}, errgroup.Group{}
	for range 8 {
		looks := 0
		g.Go(func() error {
			return turn.take(t.Context(), func() error {
				if n := elections.Add(1); n > 1 {
					t.Errorf("%d elections at once", n)
				}
				return nil
			}, func(context.Context) (bool, error) {
				if looks++; looks < 3 {
					return false, nil
				}
				elections.Add(-1)
				return true, nil
			})
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestFollowers(t *testing.T) {
	old, heir := following("old", ""), following("heir", "id-old")
	cases := map[string]struct {
		reason string
		node   *node
		plan   []topology.Action
		want   []string
	}{
		"Follows":    {reason: "It will hear who takes over.", node: following("n", "id-old"), want: []string{"n"}},
		"OfAnother":  {reason: "One of another shard does not care.", node: following("n", "id-other")},
		"AboutTo":    {reason: "It is told to follow before the handover in the same pass.", node: following("n", ""), plan: []topology.Action{topology.Replicate{Node: "n", PrimaryID: "id-old"}}, want: []string{"n"}},
		"AboutToGo":  {reason: "It is told to follow another one.", node: following("n", ""), plan: []topology.Action{topology.Replicate{Node: "n", PrimaryID: "id-other"}}},
		"Silent":     {reason: "One that does not answer cannot be asked, and must not hold up the others.", node: following("n", "id-old", silent)},
		"WithoutPod": {reason: "Nor can one that has no pod.", node: following("n", "id-old", noPod)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &findings{nodes: []*node{old, heir, tc.node}, plan: topology.Plan{Actions: tc.plan}}
			var got []string
			for _, n := range f.followers(old, heir) {
				got = append(got, n.obj.GetName())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s followers(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHandingOver(t *testing.T) {
	cases := map[string]struct {
		reason  string
		ordered string
		primary string
		want    bool
	}{
		"ToAnother":    {"A newcomer must not begin to follow one that is handing over.", "heir", "old", true},
		"Done":         {"The one that has taken over is followed at once.", "heir", "heir", false},
		"AnotherShard": {"What happens in another shard does not matter.", "other", "old", false},
		"Nothing":      {"No failover was ordered.", "", "old", false},
		"Unknown":      {"A primary whose record is gone cannot be compared.", "heir", "gone", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.ValkeyCluster{}
			e := &external{memory: newMemory()}
			e.found.nodes = []*node{following("old", ""), following("heir", "id-old"), following("other", "", shard(1))}
			if tc.ordered != "" {
				e.memory.cool(c, failoverKey(tc.ordered, topology.FailoverDefault), failoverPatience)
			}
			if got := e.handingOver(c, tc.primary); got != tc.want {
				t.Errorf("%s handingOver(...): got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNobodyFollowsWhoHandsOver(t *testing.T) {
	c, rec := &v1alpha1.ValkeyCluster{}, &told{}
	e := &external{memory: newMemory(), record: rec, log: logging.NewNopLogger()}
	e.found.nodes = []*node{following("old", ""), following("heir", "id-old"), following("n", "", noPod)}
	e.memory.cool(c, failoverKey("heir", topology.FailoverDefault), failoverPatience)
	follow := func(primary string) {
		t.Helper()
		if err := e.carryOut(t.Context(), c, topology.Replicate{Node: "n", Primary: primary, PrimaryID: "id-" + primary}); err != nil {
			t.Fatal(err)
		}
	}
	follow("old")
	if diff := cmp.Diff([]event.Reason(nil), rec.reasons); diff != "" {
		t.Errorf("a member is told to follow a primary that hands over: -want, +got:\n%s", diff)
	}
	// It has no pod, so that the order fails, which is told.
	follow("heir")
	if diff := cmp.Diff([]event.Reason{"ActionFailed"}, rec.reasons); diff != "" {
		t.Errorf("a member is not told to follow the new primary: -want, +got:\n%s", diff)
	}
}

func TestStopsSoon(t *testing.T) {
	now := time.Now()
	deleted := func(ago, grace time.Duration) *corev1.Pod {
		p := &corev1.Pod{}
		p.DeletionTimestamp = new(metav1.NewTime(now.Add(grace - ago)))
		p.DeletionGracePeriodSeconds = new(int64(grace.Seconds()))
		return p
	}
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		"Stays":      {"Nobody deleted it.", &corev1.Pod{}, false},
		"None":       {"There is no pod.", nil, false},
		"JustNow":    {"It goes on serving for long enough.", deleted(time.Second, 30*time.Second), false},
		"HalfGone":   {"It serves for 10 s after its deletion, however long its grace period.", deleted(5*time.Second, 30*time.Second), true},
		"ShortGrace": {"A grace period that is shorter ends that too.", deleted(time.Second, 2*time.Second), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := stopsSoon(tc.pod, now); got != tc.want {
				t.Errorf("%s stopsSoon(...): got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
