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
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

func TestWaves(t *testing.T) {
	add, meet := topology.AddSlots{Node: "a"}, topology.Meet{From: "a", To: "b"}
	tune, retire := topology.Tune{Node: "a"}, topology.Retire{Node: "c"}
	planned, forced := topology.Failover{Node: "a", Mode: topology.FailoverDefault}, topology.Failover{Node: "b", Mode: topology.FailoverForce}
	got := waves([]topology.Action{retire, meet, add, tune, planned, forced})
	want := [][]topology.Action{{forced}, {tune}, {add}, {meet}, nil, {planned}, {retire}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a dead primary waits for nothing, slots and epochs come before introductions, retirement comes last: -want, +got:\n%s", diff)
	}
}

// told keeps the reasons of the events that it is given.
type told struct{ reasons []event.Reason }

func (t *told) Event(_ runtime.Object, e event.Event)      { t.reasons = append(t.reasons, e.Reason) }
func (t *told) WithAnnotations(_ ...string) event.Recorder { return t }

func TestOrdered(t *testing.T) {
	planned := topology.FailoverDefault
	cases := map[string]struct {
		reason string
		before topology.Failover
		ago    time.Duration
		now    topology.Failover
		want   bool
	}{
		"Again":        {"It is under way.", topology.Failover{Node: "heir", Mode: planned}, time.Second, topology.Failover{Node: "heir", Mode: planned}, true},
		"Lost":         {"An order that came to nothing is given again.", topology.Failover{Node: "heir", Mode: planned}, failoverPatience, topology.Failover{Node: "heir", Mode: planned}, false},
		"Another":      {"The second one would take over from the first one.", topology.Failover{Node: "heir", Mode: planned}, failoverPatience, topology.Failover{Node: "n", Mode: planned}, true},
		"AnotherLost":  {"The server has given up: another one may try.", topology.Failover{Node: "heir", Mode: planned}, manualFailover, topology.Failover{Node: "n", Mode: planned}, false},
		"AnotherShard": {"Shards do not wait for each other.", topology.Failover{Node: "other", Mode: planned}, time.Second, topology.Failover{Node: "n", Mode: planned}, false},
		"Forced":       {"A dead primary waits for nobody.", topology.Failover{Node: "heir", Mode: planned}, time.Second, topology.Failover{Node: "n", Mode: topology.FailoverForce}, false},
		"ForcedAgain":  {"It is under way, too.", topology.Failover{Node: "heir", Mode: topology.FailoverForce}, time.Second, topology.Failover{Node: "heir", Mode: topology.FailoverForce}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.ValkeyCluster{}
			e := &external{memory: newMemory()}
			e.found.nodes = []*node{following("heir", "id-old"), following("n", "id-old"), following("other", "", shard(1))}
			e.memory.of(c).orders[failoverKey(tc.before.Node, tc.before.Mode)] = time.Now().Add(-tc.ago)
			if got := e.ordered(c, tc.now); got != tc.want {
				t.Errorf("%s ordered(...): got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestFailoverIsToldAsOftenAsOrdered(t *testing.T) {
	for _, ordered := range []string{"a", "b"} {
		c := &v1alpha1.ValkeyCluster{}
		rec := &told{}
		e := &external{memory: newMemory(), record: rec, log: logging.NewNopLogger()}
		e.found.nodes = []*node{following("a", "id-old"), following("b", "id-old")}
		e.memory.cool(c, failoverKey(ordered, topology.FailoverDefault), failoverPatience)
		if err := e.carryOut(t.Context(), c, topology.Failover{Node: "a", Mode: topology.FailoverDefault}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]event.Reason(nil), rec.reasons); diff != "" {
			t.Errorf("a failover that was ordered a moment ago, to %s, is neither ordered nor told again: -want, +got:\n%s", ordered, diff)
		}
	}
}

func TestTimely(t *testing.T) {
	c := &v1alpha1.ValkeyCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "u"}}
	member := func(name string, edits ...func(*v1alpha1.ValkeyNode)) *v1alpha1.ValkeyNode {
		n := manifest.Node(c, name, 0, manifest.NodeTemplate{})
		n.SetUID(types.UID("uid-" + name))
		for _, e := range edits {
			e(n)
		}
		return n
	}
	errBoom := errors.New("boom")
	foreign := func(n *v1alpha1.ValkeyNode) { n.OwnerReferences[0].UID = "another" }
	create, tune := topology.CreateNode{Name: "c-new"}, topology.Tune{Node: "c-a"}
	cases := map[string]struct {
		reason string
		live   []*v1alpha1.ValkeyNode
		listed error
		wave   []topology.Action
		want   []topology.Action
		err    error
	}{
		"Seen":     {reason: "All that there is was seen.", live: []*v1alpha1.ValkeyNode{member("c-a")}, wave: []topology.Action{create, tune}, want: []topology.Action{create, tune}},
		"Unseen":   {reason: "What is missing may have been made before.", live: []*v1alpha1.ValkeyNode{member("c-a"), member("c-b")}, wave: []topology.Action{create, tune}, want: []topology.Action{tune}},
		"Renewed":  {reason: "One of the same name is another member.", live: []*v1alpha1.ValkeyNode{member("c-a", func(n *v1alpha1.ValkeyNode) { n.UID = "later" })}, wave: []topology.Action{create}},
		"Left":     {reason: "One that is gone already leaves a place.", wave: []topology.Action{create}, want: []topology.Action{create}},
		"Foreign":  {reason: "Those of somebody else are never waited for.", live: []*v1alpha1.ValkeyNode{member("c-a"), member("c-b", foreign)}, wave: []topology.Action{create}, want: []topology.Action{create}},
		"NoCreate": {reason: "Nothing else waits, or asks.", live: []*v1alpha1.ValkeyNode{member("c-b")}, listed: errBoom, wave: []topology.Action{tune}, want: []topology.Action{tune}},
		"Unknown":  {reason: "Who cannot ask makes none, but does the rest.", listed: errBoom, wave: []topology.Action{create, tune}, want: []topology.Action{tune}, err: errBoom},
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live := fake.NewClientBuilder().WithScheme(scheme)
			for _, n := range tc.live {
				live.WithObjects(n)
			}
			live.WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if tc.listed != nil {
					return tc.listed
				}
				return c.List(ctx, l, opts...)
			}})
			e := &external{live: live.Build(), found: findings{nodes: []*node{{obj: member("c-a")}}}}
			got, err := e.timely(t.Context(), c, tc.wave)
			if !errors.Is(err, tc.err) {
				t.Errorf("%s timely(...): want error %v, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s timely(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
