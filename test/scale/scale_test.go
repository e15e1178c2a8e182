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

// Package scale runs the provider with a thousand clusters of six members, on a
// real API server, with played pods and Valkey servers, and holds what it takes
// against bounds.
package scale

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/valkeycluster"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/test/valkeysim"
)

var (
	clusters  = flag.Int("clusters", 1000, "how many clusters there are, the bystanders among them")
	restFor   = flag.Duration("rest", 5*time.Minute, "how long the provider is measured at rest")
	unrelated = flag.Int("unrelated", 5000, "how many Secrets and ConfigMaps there are that do not concern the provider")
	kills     = flag.Int("kills", 5, "how many primaries die at rest, and as many again while all roll")
	rolled    = flag.Float64("rolled", 1, "what share of the fleet is rolled before the storm counts as over")
	rolling   = flag.Int("rolling", 0, "how many clusters may roll at once, 0 for any number")
	patience  = flag.Duration("patience", time.Hour, "how long a step may take")
	output    = flag.String("out", "", "file for the report")
)

// The bounds of what the provider may take.
const (
	maxCores     = 0.1
	maxMemory    = 512.0
	maxUnrelated = 50.0
	maxRestart   = 60.0
	// maxDelay is how many times as long as at rest an order may take in a storm.
	maxDelay = 2.0
)

const (
	shards, replicas = 3, 1
	// namespaces is over how many the fleet is spread.
	namespaces = 20
	bystanders = "bystanders"
	// settle is how long nothing is written before all counts as at rest.
	settle = 30 * time.Second
)

// A world is everything that the test runs.
type world struct {
	*kube
	kubelet  *kubelet
	provider *provider
	sim      *valkeysim.Sim
	report   *report

	mu     sync.Mutex
	orders []valkeysim.Order
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{report: &report{Clusters: *clusters, Members: *clusters * shards * (replicas + 1)}}
	t.Cleanup(func() {
		if err := w.report.write(*output); err != nil {
			t.Error(err)
		}
	})
	w.sim = valkeysim.New(func(o valkeysim.Order) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.orders = append(w.orders, o)
	})
	// In another network namespace than its own the test would listen to everybody.
	own, err := net.Listen("tcp4", "10.64.0.1:0")
	if err != nil {
		t.Fatalf("this test runs in a network namespace that test/scale/netns makes: %v", err)
	}
	_ = own.Close()
	l, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", manifest.Port))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = w.sim.Serve(l) }()
	t.Cleanup(func() { _ = l.Close() })
	w.kube = newKube(t)
	w.kubelet = newKubelet(t, w.kube, w.sim)
	w.provider = newProvider(t, w.kubeconfig)
	return w
}

func TestScale(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	if *clusters <= 2**kills {
		t.Fatalf("%d clusters are not enough: %d are bystanders", *clusters, 2**kills)
	}
	w := newWorld(t)
	if !t.Run("Create", w.create) {
		return
	}
	t.Run("Rest", w.rest)
	t.Run("Unrelated", w.addUnrelated)
	t.Run("Restart", w.restart)
	t.Run("Storm", w.storm)
}

// create makes all clusters at once.
func (w *world) create(t *testing.T) {
	w.makeCatalog(t)
	if err := w.provider.start(); err != nil {
		t.Fatal(err)
	}
	await(t, time.Minute, "the provider is ready", func(ctx context.Context) (string, error) { return "", w.provider.ready(ctx) })
	begin := time.Now()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for i := range *clusters {
		g.Go(func() error { return w.Create(ctx, cluster(i)) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	w.awaitAll(t, "all clusters are Active", func(c *v1alpha1.ValkeyCluster) bool { return c.Status.State == v1alpha1.StateActive })
	took := time.Since(begin)
	w.report.tell("create: until all are Active", took.Seconds(), "s")
	w.report.tell("create: rate", float64(*clusters)/took.Minutes(), "clusters/min")
	w.awaitRest(t)
	written, err := w.writes(0)
	if err != nil {
		t.Fatal(err)
	}
	w.report.tell("create: API writes of the provider for each cluster", float64(len(written))/float64(*clusters), "")
}

// cluster returns the ith cluster. The first ones are bystanders.
func cluster(i int) *v1alpha1.ValkeyCluster {
	c := &v1alpha1.ValkeyCluster{Spec: v1alpha1.ValkeyClusterSpec{ConfigRef: "fleet", Shards: shards, ReplicasPerShard: replicas}}
	c.SetName(fmt.Sprintf("c%04d", i))
	c.SetNamespace(fmt.Sprintf("team-%02d", i%namespaces))
	if i < 2**kills {
		c.Spec.ConfigRef = bystanders
		c.SetNamespace(bystanders)
	}
	return c
}

func (w *world) makeCatalog(t *testing.T) {
	t.Helper()
	for i := range namespaces {
		w.makeNamespace(t, fmt.Sprintf("team-%02d", i))
	}
	w.makeNamespace(t, bystanders)
	f, err := os.ReadFile(filepath.Join("testdata", "catalog.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(f), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := d.Decode(u); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if err := w.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) makeNamespace(t *testing.T, name string) {
	t.Helper()
	if err := w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// awaitAll waits until something is true of all clusters.
func (w *world) awaitAll(t *testing.T, what string, is func(*v1alpha1.ValkeyCluster) bool) {
	t.Helper()
	await(t, *patience, what, func(ctx context.Context) (string, error) {
		if w.provider.ended() {
			t.Fatalf("the provider ended, see %s", w.provider.log)
		}
		l := &v1alpha1.ValkeyClusterList{}
		if err := w.cache.List(ctx, l, client.UnsafeDisableDeepCopy); err != nil {
			return "", err
		}
		n := 0
		for i := range l.Items {
			if is(&l.Items[i]) {
				n++
			}
		}
		if n == *clusters {
			return "", nil
		}
		return fmt.Sprintf("%d of %d", n, *clusters), nil
	})
}

func converged(c *v1alpha1.ValkeyCluster) bool {
	return c.Status.State == v1alpha1.StateActive && c.Status.GetCondition(valkeycluster.TypeConverged).Status == corev1.ConditionTrue
}

// awaitRest waits until all clusters are as they should be and the provider has
// written nothing for a while.
func (w *world) awaitRest(t *testing.T) {
	t.Helper()
	w.awaitAll(t, "all clusters are converged", converged)
	last, since := int64(-1), time.Now()
	await(t, *patience, "nothing is written", func(context.Context) (string, error) {
		at, err := w.mark()
		if err != nil {
			return "", err
		}
		if at != last {
			last, since = at, time.Now()
		}
		if time.Since(since) < settle {
			return "something was written", nil
		}
		return "", nil
	})
}

// rest measures the provider while nothing happens.
func (w *world) rest(t *testing.T) {
	from, err := w.mark()
	if err != nil {
		t.Fatal(err)
	}
	u, err := w.provider.over(t.Context(), *restFor)
	if err != nil {
		t.Fatal(err)
	}
	w.boundWrites(t, "rest: API writes", from)
	w.report.bound(t, "rest: CPU", u.cores, "cores", maxCores)
	w.report.bound(t, "rest: RSS, at most", u.top, "MiB", maxMemory)
	w.report.tell("rest: RSS, median", u.median, "MiB")
	heap, err := w.provider.metric(t.Context(), "go_memstats_heap_inuse_bytes")
	if err != nil {
		t.Error(err)
	}
	w.report.tell("rest: heap in use", heap/(1<<20), "MiB")
	servers, conns := w.sim.Count()
	w.report.tell("rest: connections for each server", float64(conns)/float64(servers), "")
	for _, kind := range []string{"heap", "profile?seconds=30"} {
		if err := w.provider.profile(t.Context(), kind); err != nil {
			t.Error(err)
		}
	}
}

// boundWrites fails if the provider has written anything since a mark.
func (w *world) boundWrites(t *testing.T, name string, since int64) {
	t.Helper()
	written, err := w.writes(since)
	if err != nil {
		t.Fatal(err)
	}
	w.report.bound(t, name, float64(len(written)), "", 0)
	for _, x := range written[:min(len(written), 20)] {
		t.Logf("it wrote: %s", x)
	}
}

// unrelatedSize is the size of a Secret that does not concern the provider.
const unrelatedSize = 100 << 10

// addUnrelated makes Secrets and ConfigMaps in a namespace without clusters.
func (w *world) addUnrelated(t *testing.T) {
	window := min(*restFor, time.Minute)
	before, err := w.provider.over(t.Context(), window)
	if err != nil {
		t.Fatal(err)
	}
	const ns = "elsewhere"
	w.makeNamespace(t, ns)
	noise := make([]byte, unrelatedSize)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(noise) // It never fails.
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(8)
	for i := range *unrelated {
		meta := metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("unrelated-%d", i)}
		var obj client.Object = &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"noise": noise}}
		if i%2 == 1 {
			obj = &corev1.ConfigMap{ObjectMeta: meta, BinaryData: map[string][]byte{"noise": noise}}
		}
		g.Go(func() error { return w.Create(ctx, obj) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	after, err := w.provider.over(t.Context(), window)
	if err != nil {
		t.Fatal(err)
	}
	w.report.bound(t, fmt.Sprintf("unrelated: RSS more with %d objects of 100 KiB", *unrelated), after.median-before.median, "MiB", maxUnrelated)
}

// restart ends the provider and starts it again.
func (w *world) restart(t *testing.T) {
	from, err := w.mark()
	if err != nil {
		t.Fatal(err)
	}
	pods := w.pods(t)
	w.provider.stop()
	begin := time.Now()
	if err := w.provider.start(); err != nil {
		t.Fatal(err)
	}
	await(t, *patience, "the provider is ready", func(ctx context.Context) (string, error) { return "", w.provider.ready(ctx) })
	w.report.tell("restart: until readyz", time.Since(begin).Seconds(), "s")
	await(t, *patience, "the provider has seen all clusters", func(ctx context.Context) (string, error) {
		n, err := w.provider.seen(ctx)
		if err != nil || n == *clusters {
			return "", err
		}
		return fmt.Sprintf("%d of %d", n, *clusters), nil
	})
	w.report.bound(t, "restart: until all clusters were looked at", time.Since(begin).Seconds(), "s", maxRestart)
	u, err := w.provider.over(t.Context(), *restFor)
	if err != nil {
		t.Fatal(err)
	}
	w.boundWrites(t, "restart: API writes", from)
	w.report.bound(t, "restart: RSS, at most", u.top, "MiB", maxMemory)
	w.report.tell("restart: CPU", u.cores, "cores")
	if !slices.Equal(pods, w.pods(t)) {
		t.Error("the restart replaced members")
	}
}

// pods returns the UIDs of all pods.
func (w *world) pods(t *testing.T) []string {
	t.Helper()
	l := &corev1.PodList{}
	if err := w.cache.List(t.Context(), l, client.UnsafeDisableDeepCopy); err != nil {
		t.Fatal(err)
	}
	out := make([]string, 0, len(l.Items))
	for i := range l.Items {
		out = append(out, string(l.Items[i].UID))
	}
	slices.Sort(out)
	return out
}
