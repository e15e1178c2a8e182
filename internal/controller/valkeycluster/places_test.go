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
	"fmt"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/catalog"
	"github.com/crossplane-contrib/provider-valkey/internal/fleet"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// menu of the clusters of these tests: they want image 2.
var menu = catalog.Catalog{
	Images:  map[string]v1alpha1.ValkeyImageSpec{"i": {Repository: "valkey", Tag: "2", Version: "9.1.0"}},
	Configs: map[string]v1alpha1.ValkeyConfigSpec{"c": {ImageRef: "i"}},
}

// rollable returns an Active cluster with a member of image 1.
func rollable(name string, edits ...func(*v1alpha1.ValkeyCluster)) (*v1alpha1.ValkeyCluster, *v1alpha1.ValkeyNode) {
	c := &v1alpha1.ValkeyCluster{Spec: v1alpha1.ValkeyClusterSpec{ConfigRef: "c", Shards: 1}}
	c.SetName(name)
	c.SetNamespace("n")
	c.SetUID(types.UID(name))
	c.Status.State = v1alpha1.StateActive
	for _, e := range edits {
		e(c)
	}
	n := manifest.Node(c, name+"-1", 0, manifest.NodeTemplate{Image: "valkey:1"})
	return c, n
}

func TestDescribeRoll(t *testing.T) {
	now := metav1.Now()
	hash := func() string {
		c, _ := rollable("a")
		r, err := resolveConfig(c, menu)
		if err != nil {
			t.Fatal(err)
		}
		return newTemplate(c, r).hash()
	}()
	cases := map[string]struct {
		reason string
		edit   func(*v1alpha1.ValkeyCluster)
		node   func(*v1alpha1.ValkeyNode)
		want   fleet.Cluster
	}{
		"Outdated": {"A member of another image has to be replaced.", nil, nil, fleet.Cluster{Wants: true}},
		"Retired":  {"One that was released is no member any more.", nil, func(n *v1alpha1.ValkeyNode) { n.SetAnnotations(map[string]string{manifest.AnnotationRetired: "x"}) }, fleet.Cluster{}},
		"Creating": {"Changes are deferred while a cluster forms.", func(c *v1alpha1.ValkeyCluster) { c.Status.State = v1alpha1.StateCreating }, nil, fleet.Cluster{}},
		"Deleted":  {"Who goes needs no place.", func(c *v1alpha1.ValkeyCluster) { c.DeletionTimestamp = &now }, nil, fleet.Cluster{}},
		"Observed": {"Nor who is only looked at.", func(c *v1alpha1.ValkeyCluster) {
			c.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
		}, nil, fleet.Cluster{}},
		"Broken": {"Nor whose config is missing.", func(c *v1alpha1.ValkeyCluster) { c.Spec.ConfigRef = "other" }, nil, fleet.Cluster{}},
		"Paused": {"Who is paused gives its place to others.", func(c *v1alpha1.ValkeyCluster) {
			c.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			c.Status.Roll = &v1alpha1.Roll{Since: &now}
		}, nil, fleet.Cluster{}},
		"Rolls": {"The status says who has a place.", func(c *v1alpha1.ValkeyCluster) { c.Status.Roll = &v1alpha1.Roll{Since: &now} }, nil, fleet.Cluster{Wants: true, Holds: true}},
		"Important": {"The annotation says how important it is.", func(c *v1alpha1.ValkeyCluster) {
			c.SetAnnotations(map[string]string{manifest.AnnotationRollPriority: "5"})
		}, nil, fleet.Cluster{Wants: true, Priority: 5}},
		"Misspelt": {"One that cannot be read counts as none.", func(c *v1alpha1.ValkeyCluster) {
			c.SetAnnotations(map[string]string{manifest.AnnotationRollPriority: "high"})
		}, nil, fleet.Cluster{Wants: true}},
		"Stalled": {"It had its turn for the very same change.", func(c *v1alpha1.ValkeyCluster) { c.Status.Roll = &v1alpha1.Roll{StalledFor: hash, StalledAt: &now} }, nil, fleet.Cluster{Wants: true, Stalled: true, StalledAt: now.Time}},
		"Mended":  {"It has a new turn for another one.", func(c *v1alpha1.ValkeyCluster) { c.Status.Roll = &v1alpha1.Roll{StalledFor: "other"} }, nil, fleet.Cluster{Wants: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, n := rollable("a")
			if tc.edit != nil {
				tc.edit(c)
			}
			if tc.node != nil {
				tc.node(n)
			}
			tc.want.Namespace, tc.want.Name = "n", "a"
			if diff := cmp.Diff(tc.want, describeRoll(c, menu, []*v1alpha1.ValkeyNode{n})); diff != "" {
				t.Errorf("%s\ndescribeRoll(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A town is the API server with some clusters that want to roll, and the provider
// with room for one of them.
type town struct {
	*testing.T

	kube   client.Client
	places *places
	memory *memory
	now    time.Time
}

func newTown(t *testing.T, clusters int) *town {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	img := &v1alpha1.ValkeyImage{ObjectMeta: metav1.ObjectMeta{Name: "i"}, Spec: menu.Images["i"]}
	cfg := &v1alpha1.ValkeyConfig{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: menu.Configs["c"]}
	objs := []client.Object{img, cfg}
	for i := range clusters {
		c, n := rollable(fmt.Sprintf("c%d", i))
		objs = append(objs, c, n)
	}
	w := &town{T: t, now: time.Now(), kube: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).WithStatusSubresource(&v1alpha1.ValkeyCluster{}).Build()}
	w.restart()
	return w
}

func (w *town) restart() { w.places, w.memory = newPlaces(1, w.kube), newMemory() }

func (w *town) get(name string) *v1alpha1.ValkeyCluster {
	w.Helper()
	c := &v1alpha1.ValkeyCluster{}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: "n", Name: name}, c); err != nil {
		w.Fatal(err)
	}
	return c
}

// look makes what a pass knows of a cluster and its place.
func (w *town) look(name string) (*external, *v1alpha1.ValkeyCluster) {
	w.Helper()
	c := w.get(name)
	r, err := resolveConfig(c, menu)
	if err != nil {
		w.Fatal(err)
	}
	ns := &v1alpha1.ValkeyNodeList{}
	if err := w.kube.List(w.Context(), ns, client.MatchingLabels{manifest.LabelInstance: name}); err != nil {
		w.Fatal(err)
	}
	e := &external{client: w.kube, places: w.places, memory: w.memory, record: event.NewNopRecorder()}
	e.options.MaxRolling, e.options.RollPatience = 1, 10*time.Minute
	e.found = findings{template: newTemplate(c, r)}
	for i := range ns.Items {
		e.found.nodes = append(e.found.nodes, &node{obj: &ns.Items[i]})
	}
	if err := e.takePlace(w.Context(), c, transition{State: c.Status.State}, w.now); err != nil {
		w.Fatal(err)
	}
	return e, c
}

// end writes down what a pass found.
func (w *town) end(e *external, c *v1alpha1.ValkeyCluster) {
	w.Helper()
	c.Status.Roll = e.found.place.roll
	if err := w.kube.Status().Update(w.Context(), c); err != nil {
		w.Fatal(err)
	}
}

// pass does what a pass of a cluster does about its place, and returns whether it
// may replace members.
func (w *town) pass(name string) bool {
	w.Helper()
	e, c := w.look(name)
	w.end(e, c)
	return !e.found.place.waits
}

// stall does what a pass of a cluster does that makes no progress, and returns
// whether it gave its place up.
func (w *town) stall(name string) bool {
	w.Helper()
	e, c := w.look(name)
	e.found.plan = topology.Plan{Message: "waiting for " + name + "-2"}
	given, err := e.giveUpPlace(w.Context(), c, w.now)
	if err != nil {
		w.Fatal(err)
	}
	w.end(e, c)
	return given
}

// roll replaces the only member of a cluster.
func (w *town) roll(name string) {
	w.Helper()
	n := &v1alpha1.ValkeyNode{}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: "n", Name: name + "-1"}, n); err != nil {
		w.Fatal(err)
	}
	c := w.get(name)
	r, err := resolveConfig(c, menu)
	if err != nil {
		w.Fatal(err)
	}
	n.Spec = manifest.Node(c, n.Name, 0, newTemplate(c, r).NodeTemplate).Spec
	if err := w.kube.Update(w.Context(), n); err != nil {
		w.Fatal(err)
	}
}

func TestPlaces(t *testing.T) {
	w := newTown(t, 3)
	expect := func(why string, want bool, name string) {
		t.Helper()
		if got := w.pass(name); got != want {
			t.Errorf("%s: %s may roll: %v, want %v", why, name, got, want)
		}
	}
	expect("a place is kept for the first", false, "c1")
	expect("a place is not used before it is in the status", false, "c0")
	expect("nobody else has it meanwhile", false, "c1")
	expect("from then on it is", true, "c0")
	w.restart()
	expect("a new provider reads who has it", false, "c1")
	expect("and goes on with that one", true, "c0")
	w.roll("c0")
	expect("whoever is done", true, "c0")
	if r := w.get("c0").Status.Roll; r != nil {
		t.Errorf("c0 is done and still has a place: %v", r)
	}
	w.now = w.now.Add(2 * surveyFor)
	expect("the next has it", false, "c1")
	expect("the next uses it", true, "c1")
	expect("the last waits", false, "c2")
}

// A place that was given counts before the cache shows it, even if the cluster is
// no longer the most important one.
func TestPlacesAreGivenOnce(t *testing.T) {
	w := newTown(t, 2)
	if e, _ := w.look("c0"); e.found.place.roll == nil {
		t.Fatal("c0 has no place")
	}
	c := w.get("c1")
	c.SetAnnotations(map[string]string{manifest.AnnotationRollPriority: "1"})
	if err := w.kube.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * surveyFor)
	if e, _ := w.look("c1"); e.found.place.roll != nil {
		t.Error("c1 has a place that was given to c0")
	}
	if e, _ := w.look("c0"); e.found.place.roll == nil {
		t.Error("c0 has lost its place")
	}
}

func TestGiveUpPlace(t *testing.T) {
	w := newTown(t, 2)
	w.pass("c0")
	step := func(d time.Duration, want bool, why string) {
		t.Helper()
		got := false
		for end := w.now.Add(d); !got && w.now.Before(end); {
			w.now = w.now.Add(min(end.Sub(w.now), pulseGap))
			got = w.stall("c0")
		}
		if got != want {
			t.Errorf("%s: gave its place up: %v, want %v", why, got, want)
		}
	}
	step(time.Second, false, "a roll that has just begun")
	step(9*time.Minute, false, "it has some time")
	w.now = w.now.Add(time.Hour)
	step(9*time.Minute, false, "a time without passes, as in a pause, does not count")
	step(2*time.Minute, true, "but not for ever, as others wait")
	if r := w.get("c0").Status.Roll; r == nil || r.Since != nil || r.Stalled != "waiting for c0-2" || r.StalledFor == "" || r.StalledAt == nil {
		t.Errorf("c0 does not say that it stalled: %+v", r)
	}
	w.now = w.now.Add(time.Minute)
	if w.pass("c0") || w.get("c0").Status.Roll.Since != nil {
		t.Error("c0 has its place again before c1 had its turn")
	}
	w.pass("c1")
	if !w.pass("c1") {
		t.Error("c1 has no place")
	}
	w.roll("c1")
	w.pass("c1")
	w.now = w.now.Add(time.Minute)
	w.pass("c0")
	if !w.pass("c0") {
		t.Error("c0 has no second turn")
	}
	step(time.Second, false, "the second turn has just begun")
	step(time.Hour, false, "nobody waits for the place")
}

func TestPlacesAreNotKeptForEver(t *testing.T) {
	w := newTown(t, 2)
	for range 2 {
		if w.pass("c1"); w.get("c1").Status.Roll != nil {
			t.Fatal("c1 has a place although it is the turn of c0")
		}
		w.now = w.now.Add(keptFor / 2)
	}
	w.now = w.now.Add(keptFor)
	if w.pass("c1"); w.get("c1").Status.Roll == nil {
		t.Error("c1 waits for c0, which does not come")
	}
}

// With hundreds of clusters a pass that waits must cost next to nothing.
func TestPlacesAreSurveyedOnce(t *testing.T) {
	w := newTown(t, 20)
	w.pass("c0")
	at := w.places.at
	for i := range 20 {
		w.now = w.now.Add(surveyFor / 40)
		w.pass(fmt.Sprintf("c%d", i))
	}
	if !w.places.at.Equal(at) {
		t.Errorf("all clusters were looked at again after %s", w.places.at.Sub(at))
	}
}

func TestPulse(t *testing.T) {
	settled := topology.Member{Name: "a", Phase: topology.PhaseActive, Process: &topology.Process{Primary: true}}
	newcomer := topology.Member{Name: "b", Phase: topology.PhaseJoining}
	syncing := topology.Member{Name: "b", Phase: topology.PhaseJoining, Process: &topology.Process{Syncing: true}}
	before := (&findings{members: []topology.Member{settled, newcomer}}).pulse()
	cases := map[string]struct {
		reason string
		now    findings
		same   bool
		syncs  bool
	}{
		"AnotherTry": {"A newcomer that is made after one that failed is no progress.", findings{members: []topology.Member{settled, {Name: "c", Phase: topology.PhaseJoining}}}, true, false},
		"Synced":     {"A newcomer that has the data is.", findings{members: []topology.Member{settled, {Name: "b", Phase: topology.PhaseJoining, Process: &topology.Process{LinkUp: true}}}}, false, false},
		"Settled":    {"So is one that became a member.", findings{members: []topology.Member{settled, {Name: "b", Phase: topology.PhaseActive}}}, false, false},
		"Failover":   {"So is a change of roles.", findings{members: []topology.Member{{Name: "a", Phase: topology.PhaseActive, Process: &topology.Process{}}, newcomer}}, false, false},
		"Slots":      {"So are slots that have moved.", findings{members: []topology.Member{settled, newcomer}, plan: topology.Plan{SlotsToMove: 5}}, false, false},
		"Syncs":      {"A copy may take its time.", findings{members: []topology.Member{settled, syncing}}, true, true},
		"SyncFails":  {"But not where it is known not to succeed.", findings{members: []topology.Member{settled, syncing}, plan: topology.Plan{Problems: []string{"x"}}}, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.now.pulse(); (got == before) != tc.same || tc.now.syncs() != tc.syncs {
				t.Errorf("%s\npulse is %q after %q, syncs: %v", tc.reason, got, before, tc.now.syncs())
			}
		})
	}
}

func TestIdle(t *testing.T) {
	m, c, now := newMemory(), &v1alpha1.ValkeyCluster{}, time.Now()
	for i, s := range []struct {
		what string
		want time.Duration
	}{{"a", 0}, {"a", time.Minute}, {"a", 2 * time.Minute}, {"b", 0}, {"b", time.Minute}, {"", 0}, {"", 0}, {"b", 0}, {"b", time.Minute}} {
		if got := m.idle(c, s.what, now.Add(time.Duration(i)*time.Minute)); got != s.want {
			t.Errorf("step %d: idle for %s, want %s", i, got, s.want)
		}
	}
}

func TestWho(t *testing.T) {
	of := func(namespace, name string) fleet.Cluster { return fleet.Cluster{Namespace: namespace, Name: name} }
	cases := map[string]struct {
		reason string
		have   []fleet.Cluster
		want   string
	}{
		"Nobody": {"A place may be kept for one that has not come.", nil, "none"},
		"Ours":   {"Those of the same team are named.", []fleet.Cluster{of("n", "a"), of("n", "b")}, "a, b"},
		"Theirs": {"Those of another team are not.", []fleet.Cluster{of("m", "secret")}, "1 of other namespaces"},
		"Both":   {"They are only counted.", []fleet.Cluster{of("m", "secret"), of("n", "a")}, "a and 1 others"},
		"Many":   {"A message stays short.", []fleet.Cluster{of("n", "a"), of("n", "b"), of("n", "c"), of("n", "d")}, "a, b, c and 1 others"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := who(tc.have, "n"); got != tc.want {
				t.Errorf("%s\nwho(...) is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
