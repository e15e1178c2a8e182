//go:build cluster

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

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// A fleetWatch sees which clusters have members of both the old and the new kind.
// It looks at the members themselves and not at what the provider says.
type fleetWatch struct {
	mu sync.Mutex
	// order of the clusters' first new members, now those that are half rolled.
	order, now []string
	together   []string
}

// watchFleet looks at clusters twenty times a second, until the test ends.
func watchFleet(s *space, clusters []string, isNew func(v1alpha1.ValkeyNode) bool) *fleetWatch {
	f := &fleetWatch{}
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			f.look(ctx, s, clusters, isNew)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	s.Cleanup(func() { cancel(); <-done })
	return f
}

func (f *fleetWatch) look(ctx context.Context, s *space, clusters []string, isNew func(v1alpha1.ValkeyNode) bool) {
	var begun, now []string
	for _, name := range clusters {
		ns, err := s.nodes(ctx, name)
		if err != nil {
			return
		}
		old := slices.ContainsFunc(ns, func(n v1alpha1.ValkeyNode) bool { return !isNew(n) })
		if !slices.ContainsFunc(ns, isNew) {
			continue
		}
		begun = append(begun, name)
		if old {
			now = append(now, name)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range begun {
		if !slices.Contains(f.order, name) {
			f.order = append(f.order, name)
		}
	}
	f.now = now
	if len(now) > 1 {
		f.together = append(f.together, strings.Join(now, " and "))
	}
}

func (f *fleetWatch) state() (order, now, together []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.order), slices.Clone(f.now), slices.Clone(f.together)
}

func important(priority string) func(*v1alpha1.ValkeyCluster) {
	return func(c *v1alpha1.ValkeyCluster) {
		c.SetAnnotations(map[string]string{manifest.AnnotationRollPriority: priority})
	}
}

// One edit of the menu rolls three clusters: never two at once, the most important
// first, also over the death of the provider in the middle of a roll.
func TestFleetRollsOneAtATime(t *testing.T) {
	s := newSpace(t, 8)
	provider.with(t, "--max-rolling-clusters=1")
	cfg := s.config("fleet", v1alpha1.ValkeyConfigSpec{Valkey: map[string]string{"maxclients": "1000"}})
	s.run("first", cfg, 1, 1)
	s.awaitConverged("first", time.Minute)
	s.run("second", cfg, 1, 0, important("soon"))
	s.run("vital", cfg, 1, 1, important("10"))
	clusters := []string{"first", "second", "vital"}
	for _, c := range clusters[1:] {
		s.awaitConverged(c, time.Minute)
	}
	f := watchFleet(s, clusters, func(n v1alpha1.ValkeyNode) bool { return n.Spec.ValkeySettings["maxclients"] == "1001" })
	begin := time.Now()
	s.config("fleet", v1alpha1.ValkeyConfigSpec{Valkey: map[string]string{"maxclients": "1001"}})

	s.awaitFleet(f, "vital")
	s.awaitWaiting("first", "2 of 2 members have to be replaced", "at most 1 clusters", "now vital", "0 before it")
	s.awaitWaiting("second", "1 of 1 members have to be replaced", "1 before it")
	s.awaitEvent("second", manifest.AnnotationRollPriority, time.Minute, `"soon" is not an integer`)
	provider.kill()
	if err := provider.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"vital", "first", "second"} {
		s.awaitCluster(c, "rolled", 2*time.Minute, func(c *v1alpha1.ValkeyCluster) bool { return converged(c) && c.Status.Roll == nil })
	}
	t.Logf("Three clusters, one after the other: %s", time.Since(begin).Round(100*time.Millisecond))
	s.await("no cluster is half rolled", time.Minute, func(context.Context) (bool, string, error) {
		_, now, _ := f.state()
		return len(now) == 0, strings.Join(now, ", "), nil
	})
	order, _, together := f.state()
	if diff := cmp.Diff([]string{"vital", "first", "second"}, order); diff != "" {
		t.Errorf("order of the rolls: -want, +got:\n%s", diff)
	}
	if len(together) > 0 {
		t.Errorf("clusters were rolled at the same time: %q", together)
	}
	for _, c := range clusters {
		s.verify(c)
	}
}

// awaitFleet waits until a cluster is half rolled.
func (s *space) awaitFleet(f *fleetWatch, cluster string) {
	s.Helper()
	s.await(cluster+" is half rolled", time.Minute, func(context.Context) (bool, string, error) {
		order, now, _ := f.state()
		return slices.Contains(now, cluster), fmt.Sprintf("begun: %q, half: %q", order, now), nil
	})
}

// awaitWaiting waits until a cluster says that it waits to be rolled.
func (s *space) awaitWaiting(cluster string, words ...string) {
	s.Helper()
	s.awaitCluster(cluster, fmt.Sprintf("waiting with %q", words), time.Minute, func(c *v1alpha1.ValkeyCluster) bool {
		cond := c.GetCondition(typeConverged)
		return cond.Reason == "WaitingForPlace" && holdsAll(cond.Message, words)
	})
}

// A roll whose newcomer cannot run gives its place to the cluster that waits, once
// it has had time enough, and tries again when the others are done. What waits
// causes no writes.
func TestFleetStalledRoll(t *testing.T) {
	s := newSpace(t, 4)
	const patience = 20 * time.Second
	// With 10m, which is the limit too, a container takes almost as long to start.
	const little = "200m"
	provider.with(t, "--max-rolling-clusters=1", "--roll-patience="+patience.String())
	config := func(name, maxclients, cpu string) string {
		return s.config(name, v1alpha1.ValkeyConfigSpec{
			Valkey: map[string]string{"maxclients": maxclients}, Resources: &v1alpha1.ConfigResources{Memory: "96Mi", CPU: cpu},
		})
	}
	s.run("stuck", config("a", "1000", little), 1, 0, important("10"))
	s.run("fine", config("b", "1000", little), 1, 0)
	s.awaitConverged("stuck", time.Minute)
	s.awaitConverged("fine", time.Minute)

	f := watchFleet(s, []string{"stuck", "fine"}, func(n v1alpha1.ValkeyNode) bool { return n.Spec.ValkeySettings["maxclients"] == "1001" })
	config("a", "1001", "64")
	s.awaitFleet(f, "stuck")
	s.awaitTold("stuck", time.Minute, "the pod cannot be scheduled")
	config("b", "1001", little)
	s.awaitWaiting("fine", "now stuck")
	a, err := newAudit()
	if err != nil {
		t.Fatal(err)
	}
	s.always("the stalled roll keeps its place for a while", patience/4, func(context.Context) (bool, string, error) {
		order, _, _ := f.state()
		return len(order) == 1, fmt.Sprintf("begun: %q", order), nil
	})
	ws, err := a.writes(s.name)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ws {
		if strings.HasPrefix(w.ObjectRef.Name, "fine") {
			t.Errorf("a cluster that waits causes the write %s", w)
		}
	}
	s.awaitCluster("fine", "rolled", time.Minute+patience, converged)
	s.awaitEvent("stuck", "another cluster gets the place", time.Minute, "the pod cannot be scheduled")
	s.awaitCluster("stuck", "in its second turn", time.Minute, func(c *v1alpha1.ValkeyCluster) bool { return c.Status.Roll != nil && c.Status.Roll.Since != nil })
	config("a", "1001", little)
	s.awaitCluster("stuck", "rolled", time.Minute, converged)
	s.verify("stuck")
	s.verify("fine")
}
