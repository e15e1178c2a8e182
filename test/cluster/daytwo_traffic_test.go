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
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	vk "github.com/valkey-io/valkey-go"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// reportsVar names the folder for the reports of witnesses.
const reportsVar = "VALKEY_TEST_REPORTS"

var (
	crashes = flag.Int("cluster.crashes", 3, "how often to kill the process of a primary")
	secure  = flag.Bool("cluster.secure", false, "day two by TLS, with a user of its own")
)

// Bounds of the longest stall. Runs that are not full share a small machine with
// others: they print the figure, and only fail when clients would notice.
const (
	handoverStall  = 250 * time.Millisecond
	migrationStall = 500 * time.Millisecond
	noisyStall     = 5 * time.Second
)

// convergence bounds how long any one change may take.
const convergence = 4 * time.Minute

// A watched cluster is one under traffic.
type watched struct {
	*space

	cluster string
	witness *witness.Witness
	options witness.Options
	stop    func() *witness.Report
	data    *witness.Dataset
	// takeovers are the failovers since the traffic began.
	takeovers *takeovers
	// named are the members by name, of all times at which the cluster had settled.
	named map[string]types.UID
}

// watch makes a cluster of three shards with a config of its own under traffic.
func watch(t *testing.T, pods int, version string, replicas int, edits ...func(*v1alpha1.ValkeyCluster)) *watched {
	t.Helper()
	return watchAs(t, pods, version, replicas, *secure, edits...)
}

// watchAs is watch, by TLS and with a user of its own or not.
func watchAs(t *testing.T, pods int, version string, replicas int, secure bool, edits ...func(*v1alpha1.ValkeyCluster)) *watched {
	t.Helper()
	s := newSpace(t, pods)
	s.config("config", v1alpha1.ValkeyConfigSpec{
		ImageRef:  menu(version),
		Resources: &v1alpha1.ConfigResources{Memory: "512Mi"},
		Valkey:    map[string]string{"maxmemory": "400mb"},
	})
	w := &watched{space: s, cluster: "a", options: witness.Options{Addrs: []string{s.address("a")}, Rate: 500, Keys: 4000}}
	if secure {
		edits = append(edits, w.lock())
	}
	s.run("a", s.own("config"), 3, replicas, edits...)
	s.awaitConverged("a", 2*time.Minute)
	keys := 20_000
	if *full {
		w.options.Rate, w.options.Keys, keys = 2000, 16_000, 200_000
	}
	w.begin(keys)
	return w
}

// lock lets clients in by TLS and as a user only.
func (w *watched) lock() func(*v1alpha1.ValkeyCluster) {
	w.Helper()
	ca := newAuthority(w.T, "ca")
	w.secret(serving, corev1.SecretTypeTLS, ca.issue(w.name).data)
	all := w.global("all", role())
	w.options.Username, w.options.Password = "app", "pw"
	w.options.TLS = &tls.Config{RootCAs: roots(ca), MinVersion: tls.VersionTLS12}
	return func(c *v1alpha1.ValkeyCluster) {
		secured(serving)(c)
		c.Spec.ACL = []v1alpha1.ACLBinding{user("app", "pw", all)}
	}
}

// begin fills the cluster with keys of every type and puts it under traffic.
func (w *watched) begin(keys int) {
	w.Helper()
	w.namedAnew(w.mustNodes(w.cluster))
	c, err := witness.NewClient(w.options)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	w.data = witness.NewDataset(c, "data:", keys)
	if err := w.data.Fill(w.Context()); err != nil {
		w.Fatal(err)
	}
	if w.witness, err = witness.Start(w.options); err != nil {
		w.Fatal(err)
	}
	w.takeovers = watchTakeovers(w.T, c)
	w.stop = sync.OnceValue(w.witness.Stop)
	w.Cleanup(func() { w.stop() })
	// The first second is the client's, not the cluster's.
	time.Sleep(time.Second)
}

// step does something to the cluster and waits until that is done.
func (w *watched) step(what string, do, done func()) {
	w.Helper()
	w.witness.Mark("%s", what)
	begin := time.Now()
	do()
	done()
	d := time.Since(begin).Round(100 * time.Millisecond)
	w.witness.Mark("done")
	w.Logf("%s: %s", what, d)
}

// finish ends the traffic and returns what the client saw.
func (w *watched) finish() *witness.Report {
	w.Helper()
	time.Sleep(time.Second)
	r := w.stop()
	w.Log(r)
	if dir := os.Getenv(reportsVar); dir != "" {
		if err := r.Save(dir, strings.ReplaceAll(w.Name(), "/", "-")); err != nil {
			w.Error(err)
		}
	}
	if bad, err := w.data.Verify(w.Context()); err != nil {
		w.Errorf("%d keys of the data set are lost or wrong: %v", bad, err)
	}
	return r
}

// unharmed ends the traffic, and fails the test if a client noticed anything.
func (w *watched) unharmed(stall time.Duration) {
	w.Helper()
	r := w.finish()
	if s := r.Clean(); s != "" {
		w.Errorf("clients see %s", s)
	}
	if !*full {
		stall = noisyStall
	}
	if r.WorkerStall > stall {
		w.Errorf("the longest stall is %s, more than %s; the slowest operations: %v", r.WorkerStall, stall, r.Slowest)
	}
	w.verify(w.cluster)
}

// verify is that of the space, as the client that makes the traffic.
func (w *watched) verify(cluster string) {
	w.Helper()
	w.verifyAs(cluster, vk.ClientOption{Username: w.options.Username, Password: w.options.Password, TLSConfig: w.options.TLS})
}

// scale returns a function that sets the numbers of shards and of replicas.
func (w *watched) scale(shards, replicas int) func() {
	return func() {
		w.edit(w.cluster, func(c *v1alpha1.ValkeyCluster) {
			c.Spec.Shards, c.Spec.ReplicasPerShard = int32(shards), int32(replicas)
		})
	}
}

// settle waits until the cluster has converged on its present spec, with no node
// that was made before, or with those left that a function accepts.
func (w *watched) settle(ok func(v1alpha1.ValkeyNode) bool) func() {
	return func() {
		w.Helper()
		w.await("ValkeyCluster "+w.cluster+" has settled", convergence, func(ctx context.Context) (bool, string, error) {
			c, err := w.get(ctx, w.cluster)
			if err != nil {
				return false, "", err
			}
			nodes, err := w.nodes(ctx, w.cluster)
			if err != nil {
				return false, "", err
			}
			state := describe(c)
			for _, n := range nodes {
				if n.DeletionTimestamp != nil || n.Spec.Lifecycle != v1alpha1.LifecycleActive || (ok != nil && !ok(n)) {
					return false, state + "; node " + n.Name + " is still there", nil
				}
			}
			if !converged(c) || len(nodes) != int(c.Spec.Shards*(c.Spec.ReplicasPerShard+1)) {
				return false, state, nil
			}
			w.namedAnew(nodes)
			return true, state, nil
		})
	}
}

// namedAnew checks that no member has the name of an earlier one. Clients that verify
// certificates connect to names, and DNS answers are cached.
func (w *watched) namedAnew(nodes []v1alpha1.ValkeyNode) {
	w.Helper()
	if w.named == nil {
		w.named = map[string]types.UID{}
	}
	for _, n := range nodes {
		if uid, ok := w.named[n.Name]; ok && uid != n.UID {
			w.Errorf("member %s has the name of an earlier one", n.Name)
		}
		w.named[n.Name] = n.UID
	}
}

// noneOf holds for members that are others than these.
func noneOf(old ...v1alpha1.ValkeyNode) func(v1alpha1.ValkeyNode) bool {
	return func(n v1alpha1.ValkeyNode) bool {
		return !slices.ContainsFunc(old, func(o v1alpha1.ValkeyNode) bool { return o.UID == n.UID })
	}
}

// mustNodes returns the members of a cluster as they are now.
func (s *space) mustNodes(cluster string) []v1alpha1.ValkeyNode {
	s.Helper()
	out, err := s.nodes(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// changeConfig edits the ValkeyConfig of the cluster.
func (w *watched) changeConfig(change func(*v1alpha1.ValkeyConfigSpec)) {
	w.Helper()
	cfg := &v1alpha1.ValkeyConfig{}
	w.await("edit of the config", 10*time.Second, func(ctx context.Context) (bool, string, error) {
		if err := kube.Get(ctx, client.ObjectKey{Name: w.own("config")}, cfg); err != nil {
			return false, "", err
		}
		change(&cfg.Spec)
		err := kube.Update(ctx, cfg)
		return err == nil, "", err
	})
}

// failovers counts the failovers that the provider ordered, by shard, and returns
// what it said about those that were not of the default mode.
func (w *watched) failovers() (byShard map[string]int, forced []string) {
	w.Helper()
	return w.promotions("OrderedFailover")
}

// promotions counts the events of a reason that tell of failovers.
func (w *watched) promotions(reason string) (byShard map[string]int, forced []string) {
	w.Helper()
	l := &corev1.EventList{}
	if err := kube.List(context.Background(), l, client.InNamespace(w.name)); err != nil {
		w.Fatal(err)
	}
	byShard = map[string]int{}
	for _, e := range l.Items {
		if e.Reason != reason || e.InvolvedObject.Name != w.cluster {
			continue
		}
		head, _, _ := strings.Cut(e.Message, ":")
		_, shard, _ := strings.Cut(head, "of shard ")
		shard, mode, _ := strings.Cut(shard, " ")
		byShard[shard] += int(max(1, e.Count))
		if mode != "" {
			forced = append(forced, e.Message)
		}
	}
	return byShard, forced
}

// failoversAtMost fails the test if a shard was failed over more often than that, or
// in another than the default mode. Both the servers and the events are asked:
// servers fail over without being told to, and events may be dropped when there are
// many. Those that only spread the primaries better do not count. It only works
// where no slots moved.
func (w *watched) failoversAtMost(n int) {
	w.Helper()
	byShard, forced := w.failovers()
	balanced, _ := w.promotions("BalancedPrimaries")
	seen := map[string]int{}
	for _, p := range w.primaries() {
		shard := strconv.Itoa(int(p.node.Spec.ShardIndex))
		seen[shard] = w.takeovers.of(p.state.Myself().Slots[0].Start)
		if have := seen[shard] - balanced[shard]; have > n {
			w.Errorf("shard %s was failed over %d times, at most %d are needed", shard, have, n)
		}
	}
	w.Logf("failovers by the servers: %v (%s); told of, by shard: %v, for balance: %v", seen, w.takeovers.all(), byShard, balanced)
	for s, have := range byShard {
		if have > n {
			w.Errorf("failover of shard %s was ordered %d times, at most %d are needed", s, have, n)
		}
	}
	if len(forced) > 0 {
		w.Errorf("failovers of a live primary were forced: %q", forced)
	}
}

// primaries returns the members that are primaries with slots, by shard.
func (w *watched) primaries() []member {
	w.Helper()
	ms, err := w.members(w.Context(), w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	ms = slices.DeleteFunc(ms, func(m member) bool {
		return m.state.Replication.Role != valkey.RolePrimary || len(m.state.Myself().Slots) == 0
	})
	slices.SortFunc(ms, func(a, b member) int { return int(a.node.Spec.ShardIndex - b.node.Spec.ShardIndex) })
	return ms
}

// pid finds the server's process of a pod on this machine: pods' processes are in
// cgroups that are named after the pod's UID.
func pid(p *corev1.Pod) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, d := range dirs {
		cmd, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err != nil || !bytes.Contains(cmd, []byte("valkey-server")) {
			continue
		}
		cg, err := os.ReadFile(filepath.Join(d, "cgroup"))
		if err == nil && bytes.Contains(cg, []byte("pod"+string(p.UID)+"/")) {
			return strconv.Atoi(filepath.Base(d))
		}
	}
	return 0, fmt.Errorf("no process of pod %s on this machine", p.Name)
}

// signal sends a signal to the server's process of a pod.
func (w *watched) signal(p *corev1.Pod, sig syscall.Signal) {
	w.Helper()
	n, err := pid(p)
	if err != nil {
		w.Fatal(err)
	}
	if err := syscall.Kill(n, sig); err != nil {
		w.Fatal(err)
	}
}

// outage writes to a slot until a write is acknowledged, and returns how long
// after a moment that was.
func (w *watched) outage(slot int, since time.Time) time.Duration {
	w.Helper()
	// The address that a client connects to first may be that of the dead member.
	var c vk.Client
	w.await("a client is connected", time.Minute, func(context.Context) (done bool, state string, err error) {
		c, err = witness.NewClient(w.options)
		return err == nil, "", err
	})
	defer c.Close()
	var err error
	key := "probe:{" + witness.TagOf(slot) + "}"
	for time.Since(since) < time.Minute {
		ctx, cancel := context.WithTimeout(w.Context(), 300*time.Millisecond)
		err = c.Do(ctx, c.B().Set().Key(key).Value("x").Build()).Error()
		cancel()
		if err == nil {
			return time.Since(since)
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.Fatalf("not writable a minute later: %v", err)
	return 0
}

func median(ds []time.Duration) (time.Duration, error) {
	if len(ds) == 0 {
		return 0, errors.New("nothing measured")
	}
	s := slices.Clone(ds)
	slices.Sort(s)
	return s[len(s)/2], nil
}

// onVersions runs a test on the newest version, and in a full run on all, beside
// other tests.
func onVersions(t *testing.T, test func(*testing.T, string)) {
	t.Helper()
	t.Parallel()
	for _, v := range slices.Backward(versions) {
		t.Run(v, func(t *testing.T) {
			if v != newest {
				onlyFull(t)
			}
			t.Parallel()
			test(t, v)
		})
	}
}

// onlyFull skips a long test whose kind another one covers, unless all are asked
// for.
func onlyFull(t *testing.T) {
	t.Helper()
	if !*full {
		t.Skip("only with -cluster.full")
	}
}
