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
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// absent holds once a cluster and its members are gone.
func absent(s *space, name string) condition {
	return func(ctx context.Context) (bool, string, error) {
		_, err := s.get(ctx, name)
		if !kerrors.IsNotFound(err) {
			return false, "it exists", err
		}
		ps, err := s.pods(ctx, name)
		return err == nil && len(ps) == 0, fmt.Sprintf("%d pods", len(ps)), err
	}
}

// TestKills kills the provider at random moments of bootstraps. It is not
// parallel to others, as all tests that end the provider.
func TestKills(t *testing.T) {
	t.Logf("-cluster.seed=%d", *seed)
	rnd := rand.New(rand.NewPCG(uint64(*seed), 0))
	for killed, round := 0, 0; killed < *kills; round++ {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			killed += killBootstrap(t, rnd, *kills-killed)
		})
		if t.Failed() {
			return
		}
	}
}

// killBootstrap kills the provider up to so many times until a new cluster is
// Active, and returns how often it did.
func killBootstrap(t *testing.T, rnd *rand.Rand, atMost int) int {
	const members = 6
	s := newSpace(t, members)
	a, err := newAudit()
	if err != nil {
		t.Fatal(err)
	}
	s.run("a", menu(newest), 3, 1)
	start, n := time.Now(), 0
	for ; n < atMost; n++ {
		moment := 50*time.Millisecond + time.Duration(rnd.Int64N(int64(2500*time.Millisecond)))
		_, _ = await("moment of the kill", moment, func(context.Context) (bool, string, error) { return false, "", nil })
		c, err := s.get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if c.Status.State == v1alpha1.StateActive {
			break
		}
		provider.kill()
		t.Logf("Killed %s after the cluster was made: %s", time.Since(start).Round(time.Millisecond), describe(c))
		if err := provider.launch(); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitConverged("a", 60*time.Second)
	t.Logf("Converged after %s and %d kills", time.Since(start).Round(100*time.Millisecond), n)
	s.verify("a")
	ws, err := a.writes(s.name)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for _, w := range ws {
		if w.Verb == "create" && w.Response.Code == 201 {
			made[w.ObjectRef.Resource]++
		}
	}
	for _, kind := range []string{"valkeynodes", "pods"} {
		if made[kind] != members {
			t.Errorf("%d %s were made instead of %d", made[kind], kind, members)
		}
	}
	return n
}

// TestEditsWhileCreating holds a bootstrap up by a quota of one member, edits
// meanwhile, and lets it go on.
func TestEditsWhileCreating(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 4)
	q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/valkeynodes.valkey.gomomento.com": resource.MustParse("1")}}}
	q.SetName("hold")
	q.SetNamespace(s.name)
	s.apply(q)
	cfg := s.config("c", v1alpha1.ValkeyConfigSpec{})
	s.run("a", cfg, 2, 0)
	s.await("one member", 30*time.Second, func(ctx context.Context) (bool, string, error) {
		ns, err := s.nodes(ctx, "a")
		return len(ns) == 1 && ns[0].Status.NodeID != "", fmt.Sprintf("%d members", len(ns)), err
	})
	ns, err := s.nodes(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	first := ns[0]

	s.edit("a", func(c *v1alpha1.ValkeyCluster) { c.Spec.Shards = 3 })
	// The second setting, which is told of as ignored, shows that the edit has been seen.
	s.config("c", v1alpha1.ValkeyConfigSpec{Valkey: map[string]string{"maxclients": "321", "cluster-enabled": "no"}})
	deferred := func(c *v1alpha1.ValkeyCluster) bool {
		return c.Status.GetCondition("SettingsAccepted").Reason == "Overridden" && c.Status.State == v1alpha1.StateCreating && c.Status.ObservedGeneration == c.GetGeneration() &&
			c.Status.TargetSpec != nil && c.Status.TargetSpec.Shards == 2
	}
	s.awaitCluster("a", "deferring the edit", 20*time.Second, deferred)

	if err := kube.Delete(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	s.await("Active", 60*time.Second, func(ctx context.Context) (bool, string, error) {
		c, err := s.get(ctx, "a")
		if err != nil || c.Status.State == v1alpha1.StateActive {
			return err == nil, "", err
		}
		// Read after the cluster was: what exists now may be newer.
		ns, err := s.nodes(ctx, "a")
		if err != nil {
			return false, "", err
		}
		if again, err := s.get(ctx, "a"); err != nil || again.Status.State == v1alpha1.StateActive {
			return err == nil, "", err
		}
		for _, n := range ns {
			seen[n.Name] = n.Spec.ValkeySettings["maxclients"]
			if n.Spec.ShardIndex > 1 {
				t.Errorf("member %s of shard %d was made while Creating", n.Name, n.Spec.ShardIndex)
			}
		}
		return false, describe(c), nil
	})
	if v := seen[first.Name]; v == "321" {
		t.Errorf("member %s, made before, has the new setting", first.Name)
	}
	for name, v := range seen {
		if name != first.Name && v != "321" {
			t.Errorf("member %s, made after the edit, has maxclients %q", name, v)
		}
	}
	if len(seen) != 2 {
		t.Errorf("the bootstrap had the members %v", seen)
	}
	s.awaitConverged("a", 90*time.Second)
	s.verify("a")
	if ns, err = s.nodes(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, n := range ns {
		if v := n.Spec.ValkeySettings["maxclients"]; v != "321" {
			t.Errorf("member %s ends with maxclients %q", n.Name, v)
		}
	}
	s.awaitCluster("a", "without targetSpec", time.Second, func(c *v1alpha1.ValkeyCluster) bool { return c.Status.TargetSpec == nil })
}

// TestRest counts what the provider writes while nothing changes. Since other
// tests change things, it is not parallel.
func TestRest(t *testing.T) {
	s := newSpace(t, 8)
	s.run("a", menu(newest), 3, 1)
	s.run("b", menu("8.0"), 1, 0)
	s.awaitConverged("a", 90*time.Second)
	s.awaitConverged("b", 90*time.Second)
	var a *audit
	for quiet := false; !quiet; {
		var err error
		if a, err = newAudit(); err != nil {
			t.Fatal(err)
		}
		_, err = await("a write", 3*time.Second, wrote(a, ""))
		quiet = err != nil
		if t.Context().Err() != nil {
			t.Fatal("the provider does not come to rest")
		}
	}
	_, err := await("a write", *still, wrote(a, ""))
	ws, rerr := a.writes("")
	if err == nil || rerr != nil || len(ws) > 0 {
		t.Errorf("%d writes at rest: %v %v", len(ws), ws, rerr)
	}
	t.Logf("%d writes in %s", len(ws), *still)
	s.edit("a", func(c *v1alpha1.ValkeyCluster) { c.Spec.PodAnnotations = map[string]string{"example.com/a": "b"} })
	s.await("the counter counts writes", 15*time.Second, wrote(a, s.name))
}

// wrote holds once the provider has written something.
func wrote(a *audit, namespace string) condition {
	return func(context.Context) (bool, string, error) {
		ws, err := a.writes(namespace)
		return len(ws) > 0, "no writes", err
	}
}

func TestDelete(t *testing.T) {
	cluster := func(s *space, o ...client.DeleteOption) error {
		return kube.Delete(s.Context(), s.cluster("a", "", 1, 0), o...)
	}
	cases := map[string]struct {
		reason string
		// restarts tells that the provider is ended meanwhile, so that no other
		// test may run at the same time.
		restarts bool
		// down, if set, makes the provider be down during the deletion, and tells
		// what must happen before it is started again.
		down   func(*space)
		remove func(*space) error
	}{
		"Plain": {
			reason: "In the background, as kubectl delete does.",
			remove: func(s *space) error { return cluster(s) },
		},
		"Foreground": {
			reason: "As kubectl delete --cascade=foreground does: the owned objects go first.",
			remove: func(s *space) error {
				return cluster(s, client.PropagationPolicy(metav1.DeletePropagationForeground))
			},
		},
		"Namespace": {
			reason: "Everything is deleted at once and in any order.",
			remove: func(s *space) error {
				ns := &corev1.Namespace{}
				ns.SetName(s.name)
				return kube.Delete(s.Context(), ns)
			},
		},
		"Restart": {
			reason:   "The provider is killed right after the deletion.",
			restarts: true,
			remove: func(s *space) error {
				if err := cluster(s); err != nil {
					return err
				}
				provider.kill()
				return provider.launch()
			},
		},
		"Down": {
			reason:   "The provider is down meanwhile: what serves stays until it is back.",
			restarts: true,
			down: func(s *space) {
				s.always("all pods", 3*time.Second, func(ctx context.Context) (bool, string, error) {
					ps, err := s.pods(ctx, "a")
					n := 0
					for _, p := range ps {
						if p.DeletionTimestamp == nil {
							n++
						}
					}
					return n == 4, fmt.Sprintf("%d pods", n), err
				})
			},
			remove: func(s *space) error { return cluster(s) },
		},
		"ForegroundDown": {
			reason:   "The provider is down while the garbage collector does its part.",
			restarts: true,
			down: func(s *space) {
				s.await("no pods", 60*time.Second, func(ctx context.Context) (bool, string, error) {
					ps, err := s.pods(ctx, "a")
					return err == nil && len(ps) == 0, fmt.Sprintf("%d pods", len(ps)), err
				})
			},
			remove: func(s *space) error {
				return cluster(s, client.PropagationPolicy(metav1.DeletePropagationForeground))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if !tc.restarts {
				t.Parallel()
			}
			t.Log(tc.reason)
			s := newSpace(t, 4)
			s.run("a", menu(newest), 2, 1, func(c *v1alpha1.ValkeyCluster) { connectionSecret(c) })
			s.awaitConverged("a", 60*time.Second)
			if tc.down != nil {
				provider.kill()
				t.Cleanup(func() { provider.revive(t) })
			}
			if err := tc.remove(s); err != nil {
				t.Fatal(err)
			}
			if tc.down != nil {
				tc.down(s)
				provider.revive(t)
			}
			t.Logf("Everything is gone after %s", s.gone(60*time.Second).Round(100*time.Millisecond))
		})
	}
}
