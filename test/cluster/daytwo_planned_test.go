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
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

func TestDayTwoScaleShards(t *testing.T) {
	w := watch(t, 10, newest, 1)
	for _, n := range []int{5, 3, 1, 3} {
		w.step(fmt.Sprintf("%d shards", n), w.scale(n, 1), w.settle(nil))
		w.spread(n)
	}
	w.unharmed(migrationStall)
}

// Slots move key by key where servers cannot move them at once.
func TestDayTwoScaleShardsClassic(t *testing.T) {
	onlyFull(t)
	for _, v := range []string{"8.0", "8.1"} {
		t.Run(v, func(t *testing.T) {
			if v != "8.1" {
				onlyFull(t)
			}
			w := watch(t, 8, v, 1)
			for _, n := range []int{4, 3} {
				w.step(fmt.Sprintf("%d shards", n), w.scale(n, 1), w.settle(nil))
				w.spread(n)
			}
			w.unharmed(migrationStall)
		})
	}
}

// spread checks that shards hold the same number of slots but for one.
func (w *watched) spread(shards int) {
	w.Helper()
	ps := w.primaries()
	if len(ps) != shards {
		w.Fatalf("%d primaries hold slots, want %d", len(ps), shards)
	}
	for _, p := range ps {
		slots := valkey.CountSlots(p.state.Myself().Slots)
		if slots < valkey.SlotCount/shards || slots > valkey.SlotCount/shards+1 {
			w.Errorf("%s holds %d slots", p.node.Name, slots)
		}
	}
}

func TestDayTwoScaleReplicas(t *testing.T) {
	w := watch(t, 9, newest, 1)
	for _, n := range []int{2, 0, 1} {
		w.step(fmt.Sprintf("%d replicas", n), w.scale(3, n), w.settle(nil))
	}
	w.failoversAtMost(1)
	w.unharmed(handoverStall)
}

func TestDayTwoRollBySetting(t *testing.T) {
	w := watch(t, 8, newest, 1)
	w.step("setting", func() {
		w.changeConfig(func(c *v1alpha1.ValkeyConfigSpec) { c.Valkey["maxmemory-samples"] = "7" })
	}, w.settle(func(n v1alpha1.ValkeyNode) bool { return n.Spec.ValkeySettings["maxmemory-samples"] == "7" }))
	w.failoversAtMost(1)
	w.unharmed(handoverStall)
}

func TestDayTwoRollByImage(t *testing.T) {
	versions := []string{"8.0", "8.1", "9.1"}
	if !*full {
		versions = versions[1:]
	}
	w := watch(t, 8, versions[0], 1)
	for i, v := range versions[1:] {
		w.step("image "+v, func() {
			w.changeConfig(func(c *v1alpha1.ValkeyConfigSpec) { c.ImageRef = menu(v) })
		}, w.settle(func(n v1alpha1.ValkeyNode) bool { return n.Spec.Image == "valkey/valkey:"+v }))
		w.failoversAtMost(i + 1)
	}
	w.unharmed(handoverStall)
}

func TestDayTwoRollByZones(t *testing.T) {
	w := watch(t, 8, newest, 1)
	zones := []string{"zone-a", "zone-b"}
	w.step("zones a and b", func() {
		w.edit(w.cluster, func(c *v1alpha1.ValkeyCluster) { c.Spec.Placement = &v1alpha1.Placement{Zones: zones} })
	}, w.settle(func(n v1alpha1.ValkeyNode) bool { return n.Spec.Placement != nil && len(n.Spec.Placement.Zones) == 2 }))
	ps, err := w.pods(t.Context(), w.cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		if p.Spec.NodeName == "n3" {
			t.Errorf("pod %s runs in zone-c", p.Name)
		}
	}
	w.failoversAtMost(1)
	w.unharmed(handoverStall)
}

func TestDayTwoPodAnnotations(t *testing.T) {
	w := watch(t, 6, newest, 0)
	before, err := w.pods(t.Context(), w.cluster)
	if err != nil {
		t.Fatal(err)
	}
	has := func(k, v string) func() {
		return func() {
			w.await("annotation "+k+"="+v, 30*time.Second, func(ctx context.Context) (bool, string, error) {
				ps, err := w.pods(ctx, w.cluster)
				for _, p := range ps {
					if p.Annotations[k] != v {
						return false, p.Name + " has " + p.Annotations[k], err
					}
				}
				return err == nil, "", err
			})
		}
	}
	set := func(m map[string]string) func() {
		return func() { w.edit(w.cluster, func(c *v1alpha1.ValkeyCluster) { c.Spec.PodAnnotations = m }) }
	}
	w.step("annotation added", set(map[string]string{"example.com/a": "1"}), has("example.com/a", "1"))
	w.step("annotation changed", set(map[string]string{"example.com/a": "2"}), has("example.com/a", "2"))
	w.step("annotation removed", set(nil), w.settle(nil))
	has("example.com/a", "2")()
	after, err := w.pods(t.Context(), w.cluster)
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		if before[i].UID != after[i].UID {
			t.Errorf("pod %s was replaced for an annotation", before[i].Name)
		}
	}
	w.failoversAtMost(0)
	w.unharmed(handoverStall)
}

func TestDayTwoDeleteNodes(t *testing.T) {
	w := watch(t, 8, newest, 1)
	nodes := w.mustNodes(w.cluster)
	if !*full {
		primary := w.primaries()[0].node.Name
		nodes = slices.DeleteFunc(nodes, func(n v1alpha1.ValkeyNode) bool { return n.Spec.ShardIndex != 1 && n.Name != primary })
	}
	for _, n := range nodes {
		w.step("delete "+n.Name, func() {
			if err := kube.Delete(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
		}, w.settle(noneOf(n)))
	}
	w.unharmed(handoverStall)
}

// A primary whose pod is deleted, evicted or drained hands over before it stops.
func TestDayTwoPodDeleted(t *testing.T) {
	for _, v := range []string{"9.1", "8.1"} {
		t.Run(v, func(t *testing.T) {
			if v != newest {
				onlyFull(t)
			}
			w := watch(t, 8, v, 1)
			for _, p := range w.primaries() {
				w.step("delete pod "+p.pod.Name, func() {
					if err := kube.Delete(t.Context(), &p.pod); err != nil {
						t.Fatal(err)
					}
				}, w.settle(noneOf(p.node)))
			}
			if _, forced := w.failovers(); len(forced) > 0 {
				t.Errorf("failovers of a live primary were forced: %q", forced)
			}
			w.unharmed(handoverStall)
		})
	}
}

func TestDayTwoEvicted(t *testing.T) {
	w := watch(t, 8, newest, 1)
	p := w.primaries()[0]
	w.step("evict "+p.pod.Name, func() {
		w.await("eviction", time.Minute, func(ctx context.Context) (bool, string, error) {
			err := kube.SubResource("eviction").Create(ctx, &p.pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.pod.Name, Namespace: w.name}})
			return err == nil, "", client.IgnoreNotFound(err)
		})
	}, w.settle(noneOf(p.node)))
	w.unharmed(handoverStall)
}

// Whoever empties all nodes at the same time gets one member of a shard after the
// other, so that none of them loses its last copy.
func TestDayTwoEvictedTogether(t *testing.T) {
	w := watch(t, 12, newest, 1)
	ps, err := w.pods(t.Context(), w.cluster)
	if err != nil {
		t.Fatal(err)
	}
	old := w.mustNodes(w.cluster)
	w.step("evict all pods", func() {
		g := errgroup.Group{}
		for i := range ps {
			g.Go(func() error {
				_, err := await("eviction of "+ps[i].Name, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
					err := kube.SubResource("eviction").Create(ctx, &ps[i], &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: ps[i].Name, Namespace: w.name}})
					return client.IgnoreNotFound(err) == nil, "", err
				})
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	}, w.settle(noneOf(old...)))
	w.unharmed(handoverStall)
}

func (w *watched) kubectl(args ...string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "kubectl", args...).CombinedOutput(); err != nil {
		w.Errorf("kubectl %v: %v\n%s", args, err, out)
	}
}
