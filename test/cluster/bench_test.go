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
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// TestBootstrapBenchmark compares the provider with making the same pods by hand
// and joining them with Valkey's own tool.
func TestBootstrapBenchmark(t *testing.T) {
	if !*bench {
		t.Skip("Without -cluster.bench.")
	}
	cases := []struct {
		shape   shape
		most    float64
		patient time.Duration
		big     bool
	}{
		{shape: shape{3, 1}, most: 1.3, patient: 90 * time.Second},
		{shape: shape{30, 1}, most: 1.5, patient: 5 * time.Minute, big: true},
	}
	for _, tc := range cases {
		t.Run(tc.shape.String(), func(t *testing.T) {
			if tc.big && !*full {
				t.Skip("Without -cluster.full.")
			}
			hand := newSpace(t, tc.shape.pods())
			members := planned(t, hand, tc.shape)
			start := time.Now()
			hand.makeAll(members)
			ips := hand.awaitPings(tc.shape.pods(), tc.patient)
			a := time.Since(start)
			start = time.Now()
			hand.createByTool(ips, tc.shape.replicas)
			hand.await("all agree", tc.patient, func(ctx context.Context) (bool, string, error) { return agree(ctx, ips, tc.shape) })
			b := time.Since(start)
			t.Logf("%s: (a) pods by hand %.1f s, (b) valkey-cli --cluster create %.1f s", tc.shape, a.Seconds(), b.Seconds())
			hand.unmake()

			ours := newSpace(t, 0)
			start = time.Now()
			ours.run("a", menu(newest), tc.shape.shards, tc.shape.replicas)
			ours.awaitActive("a", tc.patient)
			c := time.Since(start)
			ours.verify("a")
			ratio := c.Seconds() / (a + b).Seconds()
			t.Logf("%s: (a) pods by hand %.1f s, (b) valkey-cli --cluster create %.1f s, (c) provider %.1f s; c/(a+b) = %.2f, at most %.1f is wanted",
				tc.shape, a.Seconds(), b.Seconds(), c.Seconds(), ratio, tc.most)
			if ratio > tc.most {
				t.Errorf("the ratio is %.2f instead of at most %.1f", ratio, tc.most)
			}
		})
	}
}

// A handmade is a pod with the Secret of its configuration.
type handmade struct {
	pod    *corev1.Pod
	secret *corev1.Secret
}

// planned returns the members that the provider makes for a cluster of a shape.
func planned(t *testing.T, to *space, sh shape) []handmade {
	t.Helper()
	s := newSpace(t, 0)
	s.run("a", menu(newest), sh.shards, sh.replicas)
	s.await("all members made", time.Minute, func(ctx context.Context) (bool, string, error) {
		ps, err := s.pods(ctx, "a")
		return len(ps) == sh.pods(), fmt.Sprintf("%d pods", len(ps)), err
	})
	out := s.copyMembers(to)
	s.empty()
	return out
}

// copyMembers returns what the provider made for its members, to be made again
// by hand in another space, and makes there what they share.
func (s *space) copyMembers(to *space) []handmade {
	s.Helper()
	ns, err := s.nodes(s.Context(), "a")
	if err != nil {
		s.Fatal(err)
	}
	to.apply(s.copySecret(to, manifest.ACLSecretName("a")))
	var out []handmade
	for i := range ns {
		conf := s.copySecret(to, ns[i].Name+"-config")
		pod := manifest.Pod(&ns[i], manifest.PodOptions{ACLSecret: manifest.ACLSecretName("a")})
		pod.Namespace, pod.OwnerReferences, pod.Spec.ReadinessGates = to.name, nil, nil
		// The provider must take no notice of it.
		delete(pod.Labels, manifest.LabelManagedBy)
		out = append(out, handmade{pod: pod, secret: conf})
	}
	return out
}

func (s *space) copySecret(to *space, name string) *corev1.Secret {
	s.Helper()
	have, out := &corev1.Secret{}, &corev1.Secret{}
	if err := kube.Get(s.Context(), client.ObjectKey{Namespace: s.name, Name: name}, have); err != nil {
		s.Fatal(err)
	}
	out.Name, out.Namespace, out.Data = name, to.name, have.Data
	return out
}

// makeAll makes all pods at once.
func (s *space) makeAll(hs []handmade) {
	s.Helper()
	g := errgroup.Group{}
	g.SetLimit(32)
	for _, h := range hs {
		g.Go(func() error {
			return errors.Join(kube.Create(s.Context(), h.secret), kube.Create(s.Context(), h.pod))
		})
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(s.unmake)
}

// unmake deletes all pods and waits until they are gone.
func (s *space) unmake() {
	s.Helper()
	s.await("pods gone", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := kube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(s.name), client.GracePeriodSeconds(1))
		if err != nil {
			return false, "", err
		}
		ps, err := s.pods(ctx, "a")
		return err == nil && len(ps) == 0, fmt.Sprintf("%d pods", len(ps)), err
	})
}

// anyone connects as the default user.
func anyone(ip string) *valkey.Node {
	return connections.Node(valkey.Endpoint{Addr: net.JoinHostPort(ip, "6379")}, valkey.Credentials{}, nil)
}

// awaitPings waits until so many pods run and answer, and returns their
// addresses.
func (s *space) awaitPings(n int, atMost time.Duration) []string {
	s.Helper()
	answers := map[string]bool{}
	s.await("all answer", atMost, func(ctx context.Context) (bool, string, error) {
		ps, err := s.pods(ctx, "a")
		if err != nil {
			return false, "", err
		}
		for _, p := range ps {
			ip := p.Status.PodIP
			if p.Status.Phase == corev1.PodRunning && !answers[ip] && anyone(ip).Ping(ctx) == nil {
				answers[ip] = true
			}
		}
		return len(answers) == n, fmt.Sprintf("%d of %d answer", len(answers), n), nil
	})
	var out []string
	for ip := range answers {
		out = append(out, ip)
	}
	return out
}

func (s *space) createByTool(ips []string, replicas int) {
	s.Helper()
	args := []string{"--cluster", "create"}
	for _, ip := range ips {
		args = append(args, net.JoinHostPort(ip, "6379"))
	}
	args = append(args, "--cluster-replicas", strconv.Itoa(replicas), "--cluster-yes")
	out, err := exec.CommandContext(s.Context(), "valkey-cli", args...).CombinedOutput()
	if err != nil {
		lines := strings.Split(string(out), "\n")
		s.Fatalf("valkey-cli: %v\n%s", err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
}

// agree tells whether all servers have one view, serve, and are in sync.
func agree(ctx context.Context, ips []string, sh shape) (bool, string, error) {
	synced, first := 0, ""
	for _, ip := range ips {
		st, err := anyone(ip).State(ctx)
		if err != nil {
			return false, ip, err
		}
		if !st.ClusterOK || st.KnownNodes != len(ips) {
			return false, ip + " does not serve", nil
		}
		if first == "" {
			first = view(st)
		}
		if view(st) != first {
			return false, ip + " has another view", nil
		}
		if st.Replication.Role == valkey.RoleReplica && st.Replication.LinkUp && !st.Replication.SyncInProgress {
			synced++
		}
	}
	want := sh.shards * sh.replicas
	return synced == want, fmt.Sprintf("%d of %d replicas in sync", synced, want), nil
}
