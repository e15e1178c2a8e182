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
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// writableAgain is how long after its primary's death a shard may stay down.
const writableAgain = time.Second

func TestDayTwoPrimaryKilled(t *testing.T) {
	for _, v := range []string{"9.1", "8.1"} {
		t.Run(v, func(t *testing.T) {
			if v != newest {
				onlyFull(t)
			}
			w := watch(t, 8, v, 1)
			var outages []time.Duration
			for range *crashes {
				ps := w.primaries()
				p := ps[rand.IntN(len(ps))]
				w.step("kill "+p.node.Name, func() {
					w.signal(&p.pod, syscall.SIGKILL)
					d := w.outage(p.state.Myself().Slots[0].Start, time.Now())
					w.Logf("writable again after %s", d.Round(time.Millisecond))
					outages = append(outages, d)
				}, w.settle(noneOf(p.node)))
			}
			m, err := median(outages)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("writable again after %s (median of %d)", m.Round(time.Millisecond), len(outages))
			limit := writableAgain
			if !*full {
				limit *= 3
			}
			if m > limit {
				t.Errorf("writable again after %s, more than %s", m, limit)
			}
			// What the replication had not carried yet is lost; no more than that.
			r := w.finish()
			if lag := int64(50 * *crashes); r.LostWrites > lag {
				t.Errorf("%d acknowledged writes are lost: %s", r.LostWrites, r.Clean())
			}
			w.verify(w.cluster)
		})
	}
}

// A process that hangs may still hold the newest writes, so that its replica is
// never forced to take over.
func TestDayTwoPrimaryHangs(t *testing.T) {
	w := watch(t, 8, newest, 1)
	p := w.primaries()[0]
	w.step("hang "+p.node.Name, func() {
		w.signal(&p.pod, syscall.SIGSTOP)
		time.AfterFunc(15*time.Second, func() {
			if n, err := pid(&p.pod); err == nil {
				_ = syscall.Kill(n, syscall.SIGCONT)
			}
		})
		w.Logf("writable again after %s", w.outage(p.state.Myself().Slots[0].Start, time.Now()).Round(time.Millisecond))
		time.Sleep(20 * time.Second)
	}, w.settle(nil))
	if _, forced := w.failovers(); len(forced) > 0 {
		t.Errorf("failovers of a live primary were forced: %q", forced)
	}
	r := w.finish()
	if r.LostWrites > 50 {
		t.Errorf("%d acknowledged writes are lost", r.LostWrites)
	}
	w.verify(w.cluster)
}

func TestDayTwoPodForceDeleted(t *testing.T) {
	w := watch(t, 8, newest, 1)
	p := w.primaries()[0]
	w.step("force-delete pod "+p.pod.Name, func() {
		if err := kube.Delete(t.Context(), &p.pod, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
		w.Logf("writable again after %s", w.outage(p.state.Myself().Slots[0].Start, time.Now()).Round(time.Millisecond))
	}, w.settle(noneOf(p.node)))
	if r := w.finish(); r.LostWrites > 50 {
		t.Errorf("%d acknowledged writes are lost", r.LostWrites)
	}
	w.verify(w.cluster)
}

func TestDayTwoMajorityKilled(t *testing.T) {
	w := watch(t, 8, newest, 1)
	ps := w.primaries()[:2]
	w.step("kill 2 of 3 primaries", func() {
		for i := range ps {
			w.signal(&ps[i].pod, syscall.SIGKILL)
		}
		begin := time.Now()
		for i := range ps {
			w.Logf("writable again after %s", w.outage(ps[i].state.Myself().Slots[0].Start, begin).Round(time.Millisecond))
		}
	}, w.settle(noneOf(ps[0].node, ps[1].node)))
	if r := w.finish(); r.LostWrites > 100 {
		t.Errorf("%d acknowledged writes are lost", r.LostWrites)
	}
	w.verify(w.cluster)
}

// With all copies gone, the cluster comes back empty and works.
func TestDayTwoAllKilled(t *testing.T) {
	s := newSpace(t, 8)
	s.run("a", menu(newest), 3, 1)
	s.awaitConverged("a", 2*time.Minute)
	w := &watched{space: s, cluster: "a"}
	ps, err := s.pods(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	old := s.mustNodes("a")
	for i := range ps {
		w.signal(&ps[i], syscall.SIGKILL)
	}
	begin := time.Now()
	w.settle(noneOf(old...))()
	t.Logf("works again after %s", time.Since(begin).Round(100*time.Millisecond))
	s.verify("a")
}

// A provider that is killed at any moment goes on where it was.
func TestDayTwoProviderKilled(t *testing.T) {
	onlyFull(t)
	w := watch(t, 10, newest, 1)
	rng := rand.New(rand.NewPCG(uint64(*seed), 2))
	t.Logf("seed %d", *seed)
	killing := func(change func()) func() {
		return func() {
			change()
			for range *kills {
				time.Sleep(time.Duration(rng.IntN(6000)) * time.Millisecond)
				provider.kill()
				w.witness.Mark("provider killed")
				if err := provider.start(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.step("5 shards", killing(w.scale(5, 1)), w.settle(nil))
	w.step("setting", killing(func() {
		w.changeConfig(func(c *v1alpha1.ValkeyConfigSpec) { c.Valkey["maxmemory-samples"] = "7" })
	}), w.settle(func(n v1alpha1.ValkeyNode) bool { return n.Spec.ValkeySettings["maxmemory-samples"] == "7" }))
	w.step("3 shards", killing(w.scale(3, 1)), w.settle(nil))
	if _, forced := w.failovers(); len(forced) > 0 {
		t.Errorf("failovers of a live primary were forced: %q", forced)
	}
	w.unharmed(migrationStall)
}
