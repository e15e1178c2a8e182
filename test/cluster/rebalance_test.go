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
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	vk "github.com/valkey-io/valkey-go"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// What is moved in the comparison with Valkey's own tool: 1 GiB.
const (
	bulkKeys = 1 << 18
	bulkSize = 4 << 10
)

// TestRebalanceBenchmark compares 3 to 5 to 3 shards under load of data with what
// valkey-cli --cluster rebalance does on an equal cluster. The provider also makes,
// syncs and removes the members, which the tool finds ready.
func TestRebalanceBenchmark(t *testing.T) {
	if !*bench {
		t.Skip("Without -cluster.bench.")
	}
	for _, v := range []string{"9.1", "8.1"} {
		t.Run(v, func(t *testing.T) {
			tool := rebalanceByTool(t, v)
			ours := rebalanceByProvider(t, v)
			ratio := ours.Seconds() / tool.Seconds()
			t.Logf("3 to 5 to 3 shards with 1 GiB on %s: provider %.1f s, valkey-cli %.1f s; ratio %.2f, at most 1.0 is wanted",
				v, ours.Seconds(), tool.Seconds(), ratio)
			if ratio > 1 {
				t.Errorf("the ratio is %.2f instead of at most 1.0", ratio)
			}
		})
	}
}

// bulky makes a cluster that has room for the data.
func bulky(t *testing.T, version string, shards int) *watched {
	t.Helper()
	s := newSpace(t, 12)
	s.config("config", v1alpha1.ValkeyConfigSpec{
		ImageRef:  menu(version),
		Resources: &v1alpha1.ConfigResources{Memory: "1Gi"},
		Valkey:    map[string]string{"maxmemory": "800mb"},
	})
	s.run("a", s.own("config"), shards, 1)
	s.awaitConverged("a", 2*time.Minute)
	return &watched{space: s, cluster: "a", options: witness.Options{Addrs: []string{s.address("a")}}}
}

// fill writes the data.
func (w *watched) fill() {
	w.Helper()
	c, err := witness.NewClient(w.options)
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	value := strings.Repeat("v", bulkSize)
	g := errgroup.Group{}
	g.SetLimit(4)
	const batch = 256
	for from := 0; from < bulkKeys; from += batch {
		g.Go(func() error {
			cmds := make([]vk.Completed, 0, batch)
			for i := from; i < from+batch; i++ {
				cmds = append(cmds, c.B().Set().Key(fmt.Sprintf("bulk:%d", i)).Value(value).Build())
			}
			for _, r := range c.DoMulti(w.Context(), cmds...) {
				if err := r.Error(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		w.Fatal(err)
	}
}

// keys counts the keys of all primaries.
func (w *watched) keys() int64 {
	w.Helper()
	n := int64(0)
	for _, p := range w.primaries() {
		n += p.state.Keys
	}
	return n
}

// rebalanceByTool lets the tool take two of five shards out and bring them back.
func rebalanceByTool(t *testing.T, version string) time.Duration {
	t.Helper()
	w := bulky(t, version, 5)
	w.edit("a", func(c *v1alpha1.ValkeyCluster) { c.SetAnnotations(map[string]string{"crossplane.io/paused": "true"}) })
	// A paused cluster is not deleted either.
	t.Cleanup(func() {
		c := w.space.cluster("a", "", 1, 0)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"crossplane.io/paused":null}}}`))
		if err := kube.Patch(context.Background(), c, patch); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	w.fill()
	ps := w.primaries()
	begin := time.Now()
	w.rebalance(version, "--cluster-weight", ps[3].state.ID+"=0", ps[4].state.ID+"=0")
	in := time.Since(begin)
	w.awaitSpread(3, toolPatience)
	begin = time.Now()
	w.rebalance(version, "--cluster-use-empty-primaries")
	out := time.Since(begin)
	w.awaitSpread(5, toolPatience)
	if n := w.keys(); n != bulkKeys {
		t.Errorf("%d keys are left of %d", n, bulkKeys)
	}
	t.Logf("valkey-cli: out %.1f s, in %.1f s", out.Seconds(), in.Seconds())
	w.edit("a", func(c *v1alpha1.ValkeyCluster) { c.SetAnnotations(nil) })
	w.empty()
	return in + out
}

// rebalance runs the tool of the servers' own version: others may not know them. It
// passes the address that it is given to other servers as that of the one which answered:
// it has to be the address of one.
func (w *watched) rebalance(version string, args ...string) {
	w.Helper()
	entry := net.JoinHostPort(w.primaries()[0].pod.Status.PodIP, strconv.Itoa(manifest.Port))
	all := append([]string{"--cluster", "rebalance", entry, "--cluster-threshold", "1", "--cluster-pipeline", "100"}, args...)
	out, err := exec.CommandContext(w.Context(), "valkey-cli-"+version, all...).CombinedOutput()
	// The tool can stop early and still end well.
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	w.Logf("valkey-cli %s says at last:\n%s", strings.Join(args, " "), strings.Join(lines[max(0, len(lines)-12):], "\n"))
	if err != nil {
		w.Fatalf("valkey-cli: %v", err)
	}
}

// toolPatience is how long the servers may take to agree after the tool has ended.
const toolPatience = time.Minute

// awaitSpread waits until so many shards share the slots evenly.
func (w *watched) awaitSpread(shards int, patience time.Duration) {
	w.Helper()
	w.await(fmt.Sprintf("%d shards share the slots", shards), patience, func(ctx context.Context) (bool, string, error) {
		ms, err := w.members(ctx, "a")
		if err != nil {
			return false, "", err
		}
		var have []int
		for _, m := range ms {
			n := 0
			for _, r := range m.state.Myself().Slots {
				n += r.Len()
			}
			if n > 0 {
				have = append(have, n)
			}
		}
		if len(have) != shards {
			return false, fmt.Sprintf("%d shards have slots", len(have)), nil
		}
		return slices.Max(have)-slices.Min(have) <= 2*16384/shards/100+1, fmt.Sprintf("slots %v", have), nil
	})
}

// rebalanceByProvider scales from 3 to 5 and back to 3 shards.
func rebalanceByProvider(t *testing.T, version string) time.Duration {
	t.Helper()
	w := bulky(t, version, 3)
	w.fill()
	begin := time.Now()
	w.scale(5, 1)()
	w.awaitSpread(5, 10*time.Minute)
	out := time.Since(begin)
	w.settle(nil)()
	begin = time.Now()
	w.scale(3, 1)()
	w.awaitSpread(3, 10*time.Minute)
	in := time.Since(begin)
	w.settle(nil)()
	if n := w.keys(); n != bulkKeys {
		t.Errorf("%d keys are left of %d", n, bulkKeys)
	}
	w.verify("a")
	t.Logf("provider: out %.1f s, in %.1f s", out.Seconds(), in.Seconds())
	w.empty()
	return in + out
}

// TestThirtyShardsBenchmark prints how long a big cluster takes to roll and to get
// one more shard and lose it again, under light traffic.
func TestThirtyShardsBenchmark(t *testing.T) {
	if !*bench || !*full {
		t.Skip("Without -cluster.bench and -cluster.full.")
	}
	sh := shape{30, 1}
	s := newSpace(t, sh.pods())
	s.config("config", v1alpha1.ValkeyConfigSpec{BaseRef: menu(newest), Valkey: map[string]string{}})
	s.run("a", s.own("config"), sh.shards, sh.replicas)
	s.awaitConverged("a", 5*time.Minute)
	w := &watched{space: s, cluster: "a", options: witness.Options{Addrs: []string{s.address("a")}, Rate: 200, Keys: 4000}}
	w.begin(30_000)
	w.step("roll", func() {
		w.changeConfig(func(c *v1alpha1.ValkeyConfigSpec) { c.Valkey = map[string]string{"maxmemory-samples": "7"} })
	}, w.settle(func(n v1alpha1.ValkeyNode) bool { return n.Spec.ValkeySettings["maxmemory-samples"] == "7" }))
	w.failoversAtMost(1)
	for _, n := range []int{31, 30} {
		w.step(fmt.Sprintf("%d shards", n), w.scale(n, 1), w.settle(nil))
		w.spread(n)
	}
	w.unharmed(migrationStall)
}
