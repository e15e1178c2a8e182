//go:build scale

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

package scale

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// newTag is what the image of the fleet is changed to.
const newTag = "9.1.3"

// storm rolls the whole fleet by one change. Meanwhile primaries of clusters die
// that have nothing to do with it: they must not wait.
func (w *world) storm(t *testing.T) {
	var quiet, stormy []time.Duration
	for i := range *kills {
		quiet = append(quiet, w.killPrimary(t, cluster(i)))
		w.awaitAll(t, "all clusters are converged", converged)
	}
	w.awaitRest(t)
	begin := time.Now()
	image := &v1alpha1.ValkeyImage{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: "fleet"}, image); err != nil {
		t.Fatal(err)
	}
	image.Spec.Tag = newTag
	if err := w.Update(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var u usage
	g := errgroup.Group{}
	g.Go(func() (err error) {
		u, err = w.provider.over(ctx, *patience)
		return err
	})
	// One dies at once and the others later, as far as the storm lasts.
	for i := range *kills {
		w.awaitRolled(t, float64(i)*0.8**rolled/float64(*kills))
		stormy = append(stormy, w.killPrimary(t, cluster(*kills+i)))
	}
	w.awaitRolled(t, *rolled)
	if *rolled == 1 {
		w.awaitAll(t, "all clusters are converged", converged)
	}
	took := time.Since(begin)
	cancel()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	w.report.tell(fmt.Sprintf("storm: until %.0f %% are rolled", 100**rolled), took.Seconds(), "s")
	w.report.tell("storm: CPU", u.cores, "cores")
	w.report.tell("storm: RSS, at most", u.top, "MiB")
	slices.Sort(quiet)
	slices.Sort(stormy)
	fmt.Println("failovers ordered at rest after", quiet, "and in the storm after", stormy)
	w.report.tell("rest: failover ordered after, median", ms(quiet[len(quiet)/2]), "ms")
	w.report.tell("rest: failover ordered after, longest", ms(quiet[len(quiet)-1]), "ms")
	w.report.bound(t, "storm: failover ordered after, median", ms(stormy[len(stormy)/2]), "ms", maxDelay*ms(quiet[len(quiet)/2]))
	w.report.tell("storm: failover ordered after, longest", ms(stormy[len(stormy)-1]), "ms")
	w.checkOrders(t, begin)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// killPrimary ends a primary of a cluster and returns how long it took until a
// failover of its shard was ordered.
func (w *world) killPrimary(t *testing.T, c *v1alpha1.ValkeyCluster) time.Duration {
	t.Helper()
	p := w.primary(t, c)
	begin, err := w.kubelet.kill(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(c)
	var at time.Time
	await(t, *patience, fmt.Sprintf("a failover of %s is ordered", key), func(context.Context) (string, error) {
		if at = w.ordered(key, begin); at.IsZero() {
			return "nothing was ordered", nil
		}
		return "", nil
	})
	fmt.Printf("failover of %s ordered after %s\n", key, at.Sub(begin))
	return at.Sub(begin)
}

// primary returns the pod of a primary of a cluster.
func (w *world) primary(t *testing.T, c *v1alpha1.ValkeyCluster) *corev1.Pod {
	t.Helper()
	l := &corev1.PodList{}
	if err := w.cache.List(t.Context(), l, client.InNamespace(c.Namespace), client.MatchingLabels{manifest.LabelInstance: c.Name}); err != nil {
		t.Fatal(err)
	}
	for i := range l.Items {
		if ip, ok := w.kubelet.ipOf(&l.Items[i]); ok && w.sim.Primary(ip) {
			return &l.Items[i]
		}
	}
	t.Fatalf("%s has no primary", c.Name)
	return nil
}

// ordered returns when a failover that is not a planned one was ordered of a
// cluster, after a time.
func (w *world) ordered(c types.NamespacedName, after time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.orders {
		if o.Mode != "" && o.At.After(after) && w.kubelet.clusterAt(o.Server) == c {
			return o.At
		}
	}
	return time.Time{}
}

// awaitRolled waits until a share of the fleet's members has the new image.
func (w *world) awaitRolled(t *testing.T, share float64) {
	t.Helper()
	want := (*clusters - 2**kills) * shards * (replicas + 1)
	await(t, *patience, fmt.Sprintf("%.0f %% of the fleet is rolled", 100*share), func(ctx context.Context) (string, error) {
		l := &corev1.PodList{}
		if err := w.cache.List(ctx, l, client.UnsafeDisableDeepCopy); err != nil {
			return "", err
		}
		n, old := 0, 0
		for i := range l.Items {
			p := &l.Items[i]
			switch {
			case p.Namespace == bystanders:
			case p.Spec.Containers[0].Image != "valkey/valkey:"+newTag:
				old++
			case holds(p, corev1.PodReady):
				n++
			}
		}
		if float64(n) >= share*float64(want) && (share < 1 || old == 0) {
			return "", nil
		}
		return fmt.Sprintf("%d of %d members, %d old ones are left", n, want, old), nil
	})
}

// checkOrders holds what was ordered in the storm against what a roll needs.
func (w *world) checkOrders(t *testing.T, since time.Time) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	planned, forced := 0, 0
	for _, o := range w.orders {
		switch {
		case o.At.Before(since) || w.kubelet.clusterAt(o.Server).Namespace == bystanders:
		case o.Mode == "":
			planned++
		default:
			forced++
		}
	}
	w.report.tell("storm: planned failovers for each cluster", float64(planned)/float64(*clusters-2**kills), "")
	w.report.bound(t, "storm: forced failovers in the fleet", float64(forced), "", 0)
}
