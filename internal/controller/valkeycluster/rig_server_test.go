//go:build server

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

package valkeycluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// patience bounds how long a rig may take to converge.
const patience = 60 * time.Second

// A rig lets the provider's own passes work on real servers, with the users and
// passwords that clusters are shipped with. There is no Kubernetes: the rig starts
// and kills the servers that the pods would have, and says what Kubernetes would.
type rig struct {
	*testing.T

	e *external
	c *v1alpha1.ValkeyCluster
	// conf are settings of all servers.
	conf map[string]string
	// users is the ACL file of new servers.
	users string
	// bound are users that somebody bound.
	bound []acl.User
	// frozen means that the users of running servers are left as they are.
	frozen bool
	// at is the address of the next new server, empty for any.
	at string

	mu      sync.Mutex
	pods    map[string]*node
	servers map[string]*valkeyserver.Server
	told    []string
}

// An option changes a rig before its cluster is formed.
type option func(*rig)

// setting gives all servers a setting.
func setting(key, value string) option { return func(r *rig) { r.conf[key] = value } }

// newRig forms a cluster.
func newRig(t *testing.T, version string, shards, replicas int, opts ...option) *rig {
	t.Helper()
	c := &v1alpha1.ValkeyCluster{}
	c.SetName("a")
	c.SetNamespace("test")
	c.SetUID(types.UID(fmt.Sprintf("%p", c)))
	c.Spec.Shards, c.Spec.ReplicasPerShard = int32(shards), int32(replicas)
	passwords, err := newPair()
	must(t, err)
	auth := manifest.AuthSecret(c, ring{current: passwords}.data())
	pool := valkey.NewPool(valkey.PoolOptions{})
	t.Cleanup(pool.Close)
	r := &rig{T: t, c: c, conf: map[string]string{}, pods: map[string]*node{}, servers: map[string]*valkeyserver.Server{}}
	r.e = &external{
		options: common.Options{Pool: pool}, log: logging.NewNopLogger(), record: (*teller)(r),
		memory: newMemory(), watch: newDeathWatch(t.Context()),
		keys: &keys{auth: auth, backup: auth, logins: []string{passwords.operator}},
	}
	r.writeUsers(version)
	maps.Copy(r.conf, map[string]string{
		"primaryuser": acl.ReplUser, "primaryauth": passwords.repl,
		"cluster-allow-replica-migration": "no",
	})
	r.setVersion(version)
	for _, o := range opts {
		o(r)
	}
	r.converge()
	return r
}

// writeUsers makes the ACL file that servers of a version and newer ones can load.
func (r *rig) writeUsers(version string) {
	r.Helper()
	var err error
	r.users, err = acl.File(nil, ringOf(r.e.keys.auth.Data).system(), version)
	must(r.T, err)
}

// setVersion makes members of another version outdated.
func (r *rig) setVersion(version string) {
	r.e.found.template = &template{manifest.NodeTemplate{
		Image: "valkey/valkey:" + version, Settings: map[string]string{keyNodeTimeout: "5000", keySyncDelay: "0"},
	}}
}

// A teller keeps the events of a rig.
type teller rig

func (l *teller) Event(_ runtime.Object, e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, e.Message)
}

func (l *teller) WithAnnotations(_ ...string) event.Recorder { return l }

// look does what Observe does, on the rig's servers.
func (r *rig) look() topology.Plan {
	r.Helper()
	var ns []*node
	r.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(r.pods)) {
		p := r.pods[name]
		ns = append(ns, &node{obj: p.obj.DeepCopy(), pod: p.pod.DeepCopy()})
	}
	r.mu.Unlock()
	must(r.T, each(ns, func(n *node) error {
		if reachable(n) {
			r.e.probe(r.Context(), r.c, n)
		}
		return nil
	}))
	now := time.Now()
	r.e.found = findings{resolved: &resolved{users: r.bound}, keys: r.e.keys, template: r.e.found.template, nodes: ns}
	r.e.watch.follow(r.c, ns, func(n *node) *valkey.Node { return r.e.conn(r.c, n) })
	problem := lockedOut(r.c, ns)
	r.e.found.admit = admittable(r.e.found.resolved, ns)
	t := enter(r.c, message(problem))
	if problem != nil {
		r.e.writeStatus(r.c, t, problem)
		return r.e.found.plan
	}
	r.e.plan(r.c, t, now)
	if end := t.leave(r.e.found.plan.Active); end.State != t.State {
		t = end
		r.e.plan(r.c, t, now)
	}
	r.e.found.aclDue = r.e.found.dueACL(r.e.memory, t.State)
	r.e.writeStatus(r.c, t, nil)
	return r.e.found.plan
}

// pass does what the provider does in one pass.
func (r *rig) pass() topology.Plan {
	r.Helper()
	p := r.look()
	for _, rec := range r.e.found.records {
		r.record(rec)
	}
	for _, w := range waves(p.Actions) {
		must(r.T, each(w, r.carryOut))
	}
	must(r.T, each(r.e.found.admit, func(n *node) error { return r.e.admit(r.Context(), r.c, n) }))
	if !r.frozen {
		must(r.T, each(r.e.found.aclDue, func(n *node) error { return r.e.valkeyError(r.c, "ACLFailed", r.e.applyACL(r.Context(), r.c, n)) }))
	}
	return p
}

// carryOut plays Kubernetes for what concerns pods.
func (r *rig) carryOut(a topology.Action) error {
	switch a := a.(type) {
	case topology.CreateNode:
		r.create(a.Name, a.Shard)
	case topology.SetPhase:
		r.change(a.Node, func(n *node) { n.obj.Spec.Lifecycle = v1alpha1.Lifecycle(a.Phase) })
	case topology.Retire:
		r.remove(a.Node)
	default:
		return r.e.carryOut(r.Context(), r.c, a)
	}
	return nil
}

// create makes a member and starts its server.
func (r *rig) create(name string, shard int) {
	r.mu.Lock()
	at := r.at
	r.at = ""
	r.mu.Unlock()
	tmpl := r.e.found.template
	obj := manifest.Node(r.c, name, int32(shard), tmpl.forNode(r.c, name))
	obj.SetUID(types.UID(name))
	obj.CreationTimestamp = metav1.Now()
	_, version, _ := strings.Cut(tmpl.Image, ":")
	s := valkeyserver.Start(r.T, version, valkeyserver.Options{Conf: r.conf, ACL: r.users, IP: at})
	pod := &corev1.Pod{}
	pod.CreationTimestamp = metav1.Now()
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, s.IP
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: common.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	obj.Status.PodUID = name
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods[name], r.servers[name] = &node{obj: obj, pod: pod}, s
}

// remove stops a member that was retired.
func (r *rig) remove(name string) {
	r.servers[name].Kill()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, name)
}

// change changes what Kubernetes knows of a member.
func (r *rig) change(name string, do func(*node)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.pods[name]; n != nil {
		do(n)
	}
}

func (r *rig) record(rec recording) {
	r.change(rec.node.obj.GetName(), func(n *node) {
		if id, ok := rec.fields["nodeID"].(string); ok {
			n.obj.Status.NodeID = id
		}
		if role, ok := rec.fields["role"].(string); ok {
			since := metav1.Now()
			n.obj.Status.Role, n.obj.Status.RoleSince = v1alpha1.NodeRole(role), &since
		}
	})
}

// kill kills a member's server. Kubernetes notices.
func (r *rig) kill(name string) {
	r.servers[name].Kill()
	r.ended(name)
}

// ended lets Kubernetes notice that a member's container has ended.
func (r *rig) ended(name string) {
	r.change(name, func(n *node) {
		n.pod.Status.Phase = corev1.PodFailed
		n.pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: metav1.Now()}}
	})
}

// scale sets the wanted numbers.
func (r *rig) scale(shards, replicas int) {
	r.c.Spec.Shards, r.c.Spec.ReplicasPerShard = int32(shards), int32(replicas)
}

// converge makes passes until nothing is left to do.
func (r *rig) converge() {
	r.Helper()
	r.until("the cluster to converge", func(p topology.Plan) bool { return p.Converged && r.c.Status.State == v1alpha1.StateActive })
}

// until makes passes until a plan is as a function says.
func (r *rig) until(what string, ok func(topology.Plan) bool) {
	r.Helper()
	valkeyserver.Await(r.T, patience, what, func() string {
		p := r.pass()
		if ok(p) {
			return ""
		}
		out := []string{p.Reason + ": " + p.Message}
		for _, a := range p.Actions {
			out = append(out, a.String())
		}
		return strings.Join(out, "\n")
	})
}

// passes makes passes for a while and returns all actions that were planned.
func (r *rig) passes(during time.Duration) []topology.Action {
	r.Helper()
	var out []topology.Action
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); <-tick.C {
		out = append(out, r.pass().Actions...)
	}
	return out
}

// primary returns the name of the member that holds a slot.
func (r *rig) primary(slot int) string {
	r.Helper()
	r.look()
	for _, n := range r.e.found.nodes {
		if n.state == nil || n.state.Replication.Role != valkey.RolePrimary {
			continue
		}
		if slices.ContainsFunc(n.ownSlots(), func(s valkey.SlotRange) bool { return s.Start <= slot && slot <= s.End }) {
			return n.obj.GetName()
		}
	}
	r.Fatalf("nobody holds slot %d", slot)
	return ""
}

// id returns the recorded node id of a member.
func (r *rig) id(name string) string { return r.pods[name].obj.Status.NodeID }

// ids are the recorded node ids of all members.
func (r *rig) ids() []string {
	var out []string
	for _, n := range r.pods {
		out = append(out, n.obj.Status.NodeID)
	}
	slices.Sort(out)
	return out
}

// known are the node ids that a server knows, its own included.
func (r *rig) known(name string) []string {
	r.Helper()
	st, err := r.servers[name].Node().State(r.Context())
	must(r.T, err)
	var out []string
	for _, n := range st.Nodes {
		out = append(out, n.ID)
	}
	slices.Sort(out)
	return out
}

// fill writes so many keys of every type, and returns how many.
func (r *rig) fill(keys int) int {
	r.Helper()
	must(r.T, r.dataset(keys).Fill(r.Context()))
	return keys
}

// intact fails the test if one of the keys was lost or changed.
func (r *rig) intact(keys int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if bad, err := r.dataset(keys).Verify(ctx); err != nil {
		r.Errorf("%d keys are lost or wrong: %v", bad, err)
	}
}

// dataset describes so many keys, with a client that knows all members of now.
func (r *rig) dataset(keys int) *witness.Dataset {
	r.Helper()
	var addrs []string
	for name := range r.pods {
		addrs = append(addrs, r.servers[name].Addr)
	}
	c, err := witness.NewClient(witness.Options{Addrs: addrs})
	must(r.T, err)
	r.Cleanup(c.Close)
	return witness.NewDataset(c, "data:", keys)
}

// heard tells whether an event or the status had all of some words.
func (r *rig) heard(words ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append(slices.Clone(r.told), r.c.Status.GetCondition(TypeConverged).Message)
	return slices.ContainsFunc(all, func(text string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onVersions runs a test on some versions of Valkey. Most of its time is waiting.
func onVersions(t *testing.T, versions []string, do func(*testing.T, string)) {
	t.Helper()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			do(t, v)
		})
	}
}
