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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

func TestMemberPod(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	born := metav1.NewTime(now.Add(-time.Minute))
	ended := metav1.NewTime(now.Add(-10 * time.Second))
	pod := func(phase corev1.PodPhase, s corev1.ContainerState) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: born},
			Status:     corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: common.ContainerName, State: s}}},
		}
	}
	type result struct {
		Pod     topology.PodPhase
		Age     time.Duration
		Message string
	}
	cases := map[string]struct {
		reason string
		node   v1alpha1.ValkeyNode
		pod    *corev1.Pod
		want   result
	}{
		"NotMadeYet": {
			reason: "a node without a pod waits for it",
			node:   v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: born}},
			want:   result{Pod: topology.PodPending, Age: time.Minute},
		},
		"CannotBeMade": {
			reason: "why a pod cannot be made is told",
			node: v1alpha1.ValkeyNode{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: born},
				Status:     v1alpha1.ValkeyNodeStatus{ConditionedStatus: xpv2.ConditionedStatus{Conditions: []xpv2.Condition{{Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Message: "exceeded quota"}}}},
			},
			want: result{Pod: topology.PodPending, Age: time.Minute, Message: "exceeded quota"},
		},
		"Gone": {
			reason: "a pod that existed and is gone is dead, it never comes back",
			node: v1alpha1.ValkeyNode{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: born},
				Status:     v1alpha1.ValkeyNodeStatus{PodUID: "u"},
			},
			want: result{Pod: topology.PodDead, Age: time.Minute, Message: "its pod is gone"},
		},
		"Starting": {
			reason: "a container that is being made is pending",
			pod:    pod(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}),
			want:   result{Pod: topology.PodPending, Age: time.Minute},
		},
		"Running": {
			reason: "a running container is running",
			pod:    pod(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}),
			want:   result{Pod: topology.PodRunning, Age: time.Minute},
		},
		"Ended": {
			reason: "the age of a dead pod counts from its death",
			pod:    pod(corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: ended}}),
			want:   result{Pod: topology.PodDead, Age: 10 * time.Second, Message: "container ended with exit code 1 (Error)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := &node{obj: &tc.node, pod: tc.pod}
			m := n.member(nil, v1alpha1.StateActive, now)
			if diff := cmp.Diff(tc.want, result{m.Pod, m.PodAge, m.PodMessage}); diff != "" {
				t.Errorf("\n%s\nmember: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMemberOutdated(t *testing.T) {
	tpl := &template{}
	tpl.Image = "valkey/valkey:9.1"
	running := &corev1.Pod{
		Spec:   corev1.PodSpec{NodeName: "n3"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: common.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
	cases := map[string]struct {
		reason string
		image  string
		host   common.Host
		state  v1alpha1.ClusterState
		want   string
	}{
		"Fine":           {"a member like the template stays", tpl.Image, common.Host{}, v1alpha1.StateActive, ""},
		"Cordoned":       {"one on a cordoned node goes", tpl.Image, common.Host{Cordoned: true}, v1alpha1.StateActive, "its node n3 is cordoned"},
		"Both":           {"the template comes first", "valkey/valkey:8.1", common.Host{Cordoned: true}, v1alpha1.StateActive, "image valkey/valkey:8.1 instead of valkey/valkey:9.1"},
		"WhileItForms":   {"a cluster that forms is not rolled", tpl.Image, common.Host{Cordoned: true}, v1alpha1.StateCreating, ""},
		"LostIsNotMoved": {"a lost node is no reason to roll", tpl.Image, common.Host{Lost: true}, v1alpha1.StateActive, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := &node{obj: &v1alpha1.ValkeyNode{Spec: v1alpha1.ValkeyNodeSpec{Image: tc.image}}, pod: running, host: tc.host}
			if got := n.member(tpl, tc.state, time.Now()).Outdated; got != tc.want {
				t.Errorf("%s\nOutdated %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestMemberRole(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewTime(now.Add(-5 * time.Second))
	primary := &valkey.State{Replication: valkey.Replication{Role: valkey.RolePrimary}, Nodes: []valkey.PeerNode{{Myself: true, Slots: []valkey.SlotRange{{Start: 0, End: 5}}}}}
	empty := &valkey.State{Replication: valkey.Replication{Role: valkey.RolePrimary}, Nodes: []valkey.PeerNode{{Myself: true}}}
	replica := &valkey.State{Replication: valkey.Replication{Role: valkey.RoleReplica}}
	type result struct {
		Role v1alpha1.NodeRole
		Age  time.Duration
	}
	cases := map[string]struct {
		reason string
		had    v1alpha1.NodeRole
		state  *valkey.State
		want   result
	}{
		"StillPrimary": {
			reason: "the age of an unchanged role counts from its record",
			had:    v1alpha1.RolePrimary, state: primary, want: result{v1alpha1.RolePrimary, 5 * time.Second},
		},
		"JustDemoted": {
			reason: "a new role has no age until it is recorded",
			had:    v1alpha1.RolePrimary, state: replica, want: result{v1alpha1.RoleReplica, 0},
		},
		"LostItsSlots": {
			reason: "a primary without slots is nothing to clients, and they need time to learn it",
			had:    v1alpha1.RolePrimary, state: empty, want: result{"", 0},
		},
		"Silent": {
			reason: "a member that does not answer keeps its recorded role",
			had:    v1alpha1.RoleReplica, want: result{v1alpha1.RoleReplica, 5 * time.Second},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := &node{obj: &v1alpha1.ValkeyNode{Status: v1alpha1.ValkeyNodeStatus{Role: tc.had, RoleSince: &since}}, state: tc.state}
			if diff := cmp.Diff(tc.want, result{n.role(), n.roleAge(now)}); diff != "" {
				t.Errorf("\n%s\nrole: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAtomicMigration(t *testing.T) {
	cases := map[string]struct {
		reason  string
		version string
		want    bool
	}{
		"Unknown": {reason: "A version that is not known cannot be relied on.", version: ""},
		"Old":     {reason: "It came with 9.0.", version: "8.1.4"},
		"First":   {reason: "The first release refuses where the default user is not open.", version: "9.0.0"},
		"Mended":  {reason: "The second one does not.", version: "9.0.1", want: true},
		"Newest":  {reason: "Nor do later ones.", version: "9.1.2", want: true},
		"Later":   {reason: "A major version has two digits one day.", version: "10.0.0", want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := atomicMigration(tc.version); got != tc.want {
				t.Errorf("%s\natomicMigration(%q): want %t, got %t", tc.reason, tc.version, tc.want, got)
			}
		})
	}
}

func TestReachable(t *testing.T) {
	pod := func(phase corev1.PodPhase, ip string, running bool) *corev1.Pod {
		p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase, PodIP: ip}}
		if running {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: common.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}
		return p
	}
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		"Runs":      {reason: "A running pod with an address is asked.", pod: pod(corev1.PodRunning, "10.0.0.1", true), want: true},
		"NoPod":     {reason: "A member without a pod has no address."},
		"NoAddress": {reason: "A pod without an address would be asked at :6379, which is the provider itself.", pod: pod(corev1.PodRunning, "", true)},
		"Starts":    {reason: "A pod whose container does not run has nobody who answers.", pod: pod(corev1.PodPending, "10.0.0.1", false)},
		"Ended":     {reason: "The address of a pod that has ended may be another's.", pod: pod(corev1.PodFailed, "10.0.0.1", true)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := reachable(&node{pod: tc.pod}); got != tc.want {
				t.Errorf("%s\nreachable(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
	e := &external{found: findings{nodes: []*node{{obj: &v1alpha1.ValkeyNode{}, pod: pod(corev1.PodPending, "", false)}}}}
	err := e.node(&v1alpha1.ValkeyCluster{}, "", func(*valkey.Node) error { t.Error("a member without an address gets a command"); return nil })
	if err == nil {
		t.Error("a command for a member without an address is an error")
	}
}

// A pod is Ready when its server serves, and not before.
func TestSynced(t *testing.T) {
	primary := func(slots ...valkey.SlotRange) *valkey.State {
		return &valkey.State{ClusterOK: true, Replication: valkey.Replication{Role: valkey.RolePrimary}, Nodes: []valkey.PeerNode{{Myself: true, Slots: slots}}}
	}
	replica := func(r valkey.Replication) *valkey.State {
		r.Role = valkey.RoleReplica
		return &valkey.State{ClusterOK: true, Replication: r, Nodes: []valkey.PeerNode{{Myself: true}}}
	}
	with := func(s *valkey.State, change func(*valkey.State)) *valkey.State {
		change(s)
		return s
	}
	all := valkey.SlotRange{Start: 0, End: valkey.SlotCount - 1}
	cases := map[string]struct {
		reason string
		state  *valkey.State
		want   bool
	}{
		"Silent":       {reason: "One that does not answer does not serve."},
		"Primary":      {reason: "A primary serves its slots.", state: primary(all), want: true},
		"NoSlots":      {reason: "Without slots it serves nobody.", state: primary()},
		"Loading":      {reason: "One that loads has not all of its data.", state: with(primary(all), func(s *valkey.State) { s.Loading = true })},
		"ClusterDown":  {reason: "One that holds the cluster for down refuses.", state: with(primary(all), func(s *valkey.State) { s.ClusterOK = false })},
		"Replica":      {reason: "A replica with a link has all data.", state: replica(valkey.Replication{LinkUp: true}), want: true},
		"NoLink":       {reason: "Without a link it may have none.", state: replica(valkey.Replication{})},
		"Syncs":        {reason: "While it syncs it has a part.", state: replica(valkey.Replication{LinkUp: true, SyncInProgress: true})},
		"ReplicaLoads": {reason: "What it got has to be loaded.", state: with(replica(valkey.Replication{LinkUp: true}), func(s *valkey.State) { s.Loading = true })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (&node{state: tc.state}).synced(); got != tc.want {
				t.Errorf("%s\nsynced(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
