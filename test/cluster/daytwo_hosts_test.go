//go:build cluster

// Copyright 2026 The provider-valkey Authors.
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//	http://www.apache.org/licenses/LICENSE-2.0
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
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// Draining each node in turn ends, with replicas and without.
func TestDayTwoDrain(t *testing.T) {
	for _, replicas := range []int{1, 0} {
		t.Run(fmt.Sprintf("%d replicas", replicas), func(t *testing.T) {
			// The harder case covers the other one.
			if replicas > 0 {
				onlyFull(t)
			}
			w := watch(t, 3*(replicas+1)+2, newest, replicas)
			for _, node := range []string{"n3", "n2"} {
				w.step("drain "+node, func() { w.drain(node) }, w.settle(nil))
				w.kubectl("uncordon", node)
			}
			w.unharmed(handoverStall)
		})
	}
}

// drain empties a node of this test's pods.
func (w *watched) drain(node string) {
	w.Helper()
	w.Cleanup(func() { w.kubectl("uncordon", node) })
	w.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=180s",
		"--pod-selector=app.kubernetes.io/instance="+w.cluster)
}

// Members leave a cordoned node although nobody evicts them, and only those.
func TestDayTwoCordon(t *testing.T) {
	onlyFull(t)
	w := watch(t, 8, newest, 1)
	before := w.hosts()
	onN3 := slices.DeleteFunc(w.mustNodes(w.cluster), func(n v1alpha1.ValkeyNode) bool { return before[n.Name] != "n3" })
	if len(onN3) == 0 {
		t.Fatalf("nothing runs on n3: %v", before)
	}
	w.step("cordon n3", func() { w.cordon("n3") }, w.settle(noneOf(onN3...)))
	for name, host := range w.hosts() {
		if host == "n3" {
			t.Errorf("%s is still on n3", name)
		}
		delete(before, name)
	}
	for name, host := range before {
		if host != "n3" {
			t.Errorf("%s was replaced although it was on %s", name, host)
		}
	}
	w.failoversAtMost(1)
	w.unharmed(handoverStall)
}

// Where no other node can take the members of a cordoned one, they stay, and the
// reason is told. That the node opens again ends the change.
func TestDayTwoCordonStalls(t *testing.T) {
	w := watch(t, 5, newest, 0, func(c *v1alpha1.ValkeyCluster) {
		c.Spec.Placement = &v1alpha1.Placement{NodeSelector: map[string]string{corev1.LabelHostname: "n3"}}
	})
	before := w.hosts()
	w.step("cordon n3", func() { w.cordon("n3") }, func() {
		w.awaitCluster(w.cluster, "telling why it stalls", 30*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
			return holdsAll(c.GetCondition(typeConverged).Message, []string{"cannot be scheduled", "its node n3 is cordoned"})
		})
	})
	w.step("uncordon n3", func() { w.kubectl("uncordon", "n3") }, w.settle(func(n v1alpha1.ValkeyNode) bool { return before[n.Name] != "" }))
	w.failoversAtMost(0)
	w.unharmed(handoverStall)
}

func (w *watched) cordon(node string) {
	w.Helper()
	w.Cleanup(func() { w.kubectl("uncordon", node) })
	w.kubectl("cordon", node)
}

// hosts returns the Kubernetes node of each pod.
func (w *watched) hosts() map[string]string {
	w.Helper()
	ps, err := w.pods(w.Context(), w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	for i := range ps {
		out[ps[i].Name] = ps[i].Spec.NodeName
	}
	return out
}

// localVar names the script that can take nodes of the local Kubernetes down.
const localVar = "VALKEY_LOCAL"

// A node without power: its members are replaced while it is away, although no
// kubelet ever says that their pods have ended.
func TestDayTwoNodeKilled(t *testing.T) {
	for _, replicas := range []int{1, 0} {
		t.Run(fmt.Sprintf("%d replicas", replicas), func(t *testing.T) {
			if replicas == 0 {
				onlyFull(t)
			}
			w := watch(t, 3*(replicas+1)+2, newest, replicas)
			w.loseNode("kill", "start")
			r := w.finishAfterLoss(replicas > 0)
			if replicas > 0 && r.LostWrites > 50 {
				t.Errorf("%d acknowledged writes are lost: %s", r.LostWrites, r.Clean())
			}
			w.verify(w.cluster)
		})
	}
}

// A node that is cut off and comes back: the members that live on it all the time
// are replaced meanwhile and do not come back.
func TestDayTwoNodeCut(t *testing.T) {
	onlyFull(t)
	w := watch(t, 8, newest, 1)
	w.loseNode("cut", "heal")
	if _, forced := w.failovers(); len(forced) > 0 {
		t.Errorf("failovers of a primary that lives were forced: %q", forced)
	}
	if r := w.finish(); r.LostWrites > 50 {
		t.Errorf("%d acknowledged writes are lost: %s", r.LostWrites, r.Clean())
	}
	w.verify(w.cluster)
}

// finishAfterLoss ends the traffic. Where the only copies were lost, the data set
// is not looked at.
func (w *watched) finishAfterLoss(copies bool) *witness.Report {
	w.Helper()
	if copies {
		return w.finish()
	}
	r := w.stop()
	w.Log(r)
	return r
}

// loseNode loses a node with a primary on it, waits until the cluster is whole
// without it, gets it back, and waits until nothing of its former members is left.
func (w *watched) loseNode(lose, back string) {
	w.Helper()
	node, slot := "", 0
	for _, p := range w.primaries() {
		// Clients find services, and names, through the first node.
		if h := p.pod.Spec.NodeName; h != "n1" {
			node, slot = h, p.state.Myself().Slots[0].Start
			break
		}
	}
	if node == "" {
		w.Fatal("no primary is on another node than n1")
	}
	var old []corev1.Pod
	ps, err := w.pods(w.Context(), w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	for i := range ps {
		if ps[i].Spec.NodeName == node {
			old = append(old, ps[i])
		}
	}
	w.step(lose+" "+node, func() {
		w.local("node", lose, node)
		w.Cleanup(func() { w.local("node", back, node) })
		w.Logf("writable again after %s", w.outage(slot, time.Now()).Round(10*time.Millisecond))
	}, func() {
		w.settle(nil)()
		w.await("the pods of the lost node are gone", time.Minute, func(context.Context) (bool, string, error) {
			for name, host := range w.hosts() {
				if host == node {
					return false, name + " is still there", nil
				}
			}
			return true, "", nil
		})
	})
	w.step(back+" "+node, func() { w.local("node", back, node) }, func() {
		w.await("the former processes are gone", time.Minute, func(context.Context) (bool, string, error) {
			for i := range old {
				if n, err := pid(&old[i]); err == nil {
					return false, fmt.Sprintf("%s runs as %d", old[i].Name, n), nil
				}
			}
			return true, "", nil
		})
		w.settle(nil)()
		w.await("nobody knows the former members", time.Minute, func(ctx context.Context) (bool, string, error) {
			err := w.topology(ctx, w.cluster)
			return err == nil, "", err
		})
	})
}

// local calls the script of the local Kubernetes.
func (w *watched) local(args ...string) {
	w.Helper()
	script := os.Getenv(localVar)
	if script == "" {
		w.Fatalf("%s is not set: run the tests with \"cluster/local/local exec\"", localVar)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, script, args...).CombinedOutput(); err != nil {
		w.Errorf("local %v: %v\n%s", args, err, out)
	}
}

// Primaries that somebody has crowded on one node are spread again.
func TestDayTwoBalance(t *testing.T) {
	w := watch(t, 8, newest, 1)
	w.awaitBalance()
	before, _ := w.promotions("BalancedPrimaries")
	crowd, replica := w.crowding()
	w.step("crowd "+crowd, func() {
		vn, err := w.server(t.Context(), w.cluster, &replica)
		if err != nil {
			t.Fatal(err)
		}
		if err := vn.Failover(t.Context(), valkey.FailoverDefault); err != nil {
			t.Fatal(err)
		}
		w.await(crowd+" has two primaries", 10*time.Second, func(context.Context) (bool, string, error) {
			on := w.crowds()
			return on[crowd] == 2, fmt.Sprintf("primaries are on %v", on), nil
		})
	}, w.awaitBalance)
	w.settle(nil)()
	moved, _ := w.promotions("BalancedPrimaries")
	if sum(moved)-sum(before) != 1 {
		t.Errorf("primaries were moved in these shards: %v, before %v; one move is enough", moved, before)
	}
	w.unharmed(handoverStall)
}

func sum(counts map[string]int) int {
	out := 0
	for _, n := range counts {
		out += n
	}
	return out
}

// crowds counts the primaries on each node.
func (w *watched) crowds() map[string]int {
	w.Helper()
	on := map[string]int{}
	for _, p := range w.primaries() {
		on[p.pod.Spec.NodeName]++
	}
	return on
}

// awaitBalance waits until each node has one primary. Valkey lets a server ask for
// votes once in 20 s, and the provider waits for that.
func (w *watched) awaitBalance() {
	w.Helper()
	w.await("primaries are spread", time.Minute, func(context.Context) (bool, string, error) {
		on := w.crowds()
		return len(on) == 3, fmt.Sprintf("primaries are on %v", on), nil
	})
}

// crowding finds a replica whose node has a primary already, while its own primary
// is alone on its node.
func (w *watched) crowding() (node string, replica corev1.Pod) {
	w.Helper()
	primaries := map[string]int{}
	host := map[string]string{}
	for _, p := range w.primaries() {
		primaries[p.pod.Spec.NodeName]++
		host[p.state.ID] = p.pod.Spec.NodeName
	}
	ms, err := w.members(w.Context(), w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range ms {
		from, to := host[m.state.Myself().PrimaryID], m.pod.Spec.NodeName
		if from != "" && from != to && primaries[from] == 1 && primaries[to] == 1 {
			return to, m.pod
		}
	}
	w.Fatalf("no failover crowds the primaries on %v", primaries)
	return "", corev1.Pod{}
}
