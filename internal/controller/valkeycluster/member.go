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
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// member turns what was found of a node into what the planner works on.
func (n *node) member(want *template, state v1alpha1.ClusterState, now time.Time) topology.Member {
	m := topology.Member{
		Name:     n.obj.Name,
		Shard:    int(n.obj.Spec.ShardIndex),
		ID:       n.id(),
		Phase:    topology.Phase(cmp.Or(n.obj.Spec.Lifecycle, v1alpha1.LifecycleActive)),
		Deleting: n.obj.DeletionTimestamp != nil,
		Retired:  n.obj.Annotations[manifest.AnnotationRetired] != "",
		Process:  n.process(now),

		LastWords: n.words,
	}
	n.describePod(&m, now)
	m.RoleAge = n.roleAge(now)
	if want != nil && (state == v1alpha1.StateActive || m.Pod != topology.PodRunning) {
		m.Outdated = cmp.Or(want.difference(n.obj), n.cordon())
	}
	return m
}

// cordon says that the member's pod is to leave its Kubernetes node, and "" if it
// may stay.
func (n *node) cordon() string {
	if !n.host.Cordoned {
		return ""
	}
	return "its node " + n.pod.Spec.NodeName + " is cordoned"
}

// id returns the recorded node id or, if none is recorded, the one that the
// process has now. The latter is recorded before any action uses it.
func (n *node) id() string {
	if n.obj.Status.NodeID != "" || n.state == nil {
		return n.obj.Status.NodeID
	}
	return n.state.ID
}

func (n *node) describePod(m *topology.Member, now time.Time) {
	switch {
	case n.pod == nil && n.obj.Status.PodUID != "":
		m.Pod, m.PodMessage = topology.PodDead, "its pod is gone"
		m.PodAge = now.Sub(lastChange(n.obj))
	case n.pod == nil:
		m.Pod, m.PodMessage = topology.PodPending, syncTrouble(n.obj)
		m.PodAge = now.Sub(n.obj.CreationTimestamp.Time)
	case common.PodEnded(n.pod):
		m.Pod, m.PodMessage = topology.PodDead, common.PodTrouble(n.pod)
		m.PodAge = now.Sub(endOf(n.pod))
	default:
		m.Pod, m.PodMessage = topology.PodPending, common.PodTrouble(n.pod)
		if running(n.pod) {
			m.Pod = topology.PodRunning
			if n.err != nil {
				m.PodMessage = n.err.Error()
			}
		}
		m.PodAge = now.Sub(n.pod.CreationTimestamp.Time)
	}
	if n.pod != nil {
		m.IP, m.Host, m.Zone = n.pod.Status.PodIP, n.pod.Spec.NodeName, n.host.Zone
		m.PodDeleting, m.HostLost = n.pod.DeletionTimestamp != nil, n.host.Lost
	}
}

// syncTrouble says why the node's controller could not make its pod.
func syncTrouble(n *v1alpha1.ValkeyNode) string {
	if c := n.GetCondition(xpv2.TypeSynced); c.Status == corev1.ConditionFalse {
		return c.Message
	}
	return ""
}

func lastChange(n *v1alpha1.ValkeyNode) time.Time {
	if t := n.GetCondition(xpv2.TypeReady).LastTransitionTime; !t.IsZero() {
		return t.Time
	}
	return n.CreationTimestamp.Time
}

func endOf(p *corev1.Pod) time.Time {
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && c.Name == common.ContainerName && !t.FinishedAt.IsZero() {
			return t.FinishedAt.Time
		}
	}
	return p.CreationTimestamp.Time
}

// role is what a member is to clients: a primary with slots, a replica, or
// nothing.
func (n *node) role() v1alpha1.NodeRole {
	switch {
	case n.state == nil:
		return n.obj.Status.Role
	case n.state.Replication.Role == valkey.RoleReplica:
		return v1alpha1.RoleReplica
	case len(n.ownSlots()) > 0:
		return v1alpha1.RolePrimary
	}
	return ""
}

func (n *node) roleAge(now time.Time) time.Duration {
	if n.obj.Status.RoleSince == nil || n.role() != n.obj.Status.Role {
		return 0
	}
	return now.Sub(n.obj.Status.RoleSince.Time)
}

func (n *node) myself() *valkey.PeerNode {
	for i := range n.state.Nodes {
		if n.state.Nodes[i].Myself {
			return &n.state.Nodes[i]
		}
	}
	return nil
}

func (n *node) ownSlots() []valkey.SlotRange {
	if me := n.myself(); me != nil {
		return me.Slots
	}
	return nil
}

func (n *node) process(now time.Time) *topology.Process {
	st := n.state
	if st == nil {
		return nil
	}
	p := &topology.Process{
		ID: st.ID, Version: st.Version, AtomicMigration: atomicMigration(st.Version),
		Primary: st.Replication.Role == valkey.RolePrimary, ClusterOK: st.ClusterOK, Epoch: st.MyEpoch,
		LinkUp: st.Replication.LinkUp, Syncing: st.Replication.SyncInProgress || st.Loading, Offset: st.Replication.Offset,
		Keys: st.Keys, UsedMemory: st.UsedMemory, MaxMemory: st.MaxMemory,
		NodeTimeout: n.timeout, SyncDelay: n.delay,
		Peers: map[string]topology.Peer{},
	}
	for i := range st.Nodes {
		v := &st.Nodes[i]
		if v.Myself {
			p.PrimaryID = v.PrimaryID
			p.Slots.AddRanges(ranges(v.Slots))
			p.Open = openSlots(v)
			continue
		}
		p.Peers[v.ID] = topology.Peer{
			IP: v.IP, Primary: v.Primary, Fail: v.Fail, PFail: v.PFail, Handshake: v.Handshake, NoAddr: v.NoAddr,
			LinkUp: v.LinkUp, PrimaryID: v.PrimaryID, Slots: ranges(v.Slots),
		}
	}
	for i := range st.Migrations {
		p.Jobs = append(p.Jobs, job(&st.Migrations[i], now))
	}
	return p
}

func job(m *valkey.Migration, now time.Time) topology.Job {
	return topology.Job{
		Export: m.Operation == valkey.MigrationExport, Active: m.Active(), Failed: m.Failed(),
		SourceID: m.SourceID, TargetID: m.TargetID, Ranges: ranges(m.Ranges), Message: m.Message, Age: now.Sub(m.LastUpdate),
	}
}

func openSlots(v *valkey.PeerNode) []topology.OpenSlot {
	var out []topology.OpenSlot
	for _, s := range slices.Sorted(maps.Keys(v.Migrating)) {
		out = append(out, topology.OpenSlot{Slot: s, Migrating: true, PeerID: v.Migrating[s]})
	}
	for _, s := range slices.Sorted(maps.Keys(v.Importing)) {
		out = append(out, topology.OpenSlot{Slot: s, PeerID: v.Importing[s]})
	}
	return out
}

func ranges(rs []valkey.SlotRange) []topology.SlotRange {
	out := make([]topology.SlotRange, 0, len(rs))
	for _, r := range rs {
		out = append(out, topology.SlotRange{Start: r.Start, End: r.End})
	}
	return out
}

// atomicMigration tells whether slots may be moved from and to a server atomically.
// The very first release that can, 9.0.0, refuses where the default user is not
// open: https://github.com/valkey-io/valkey/issues/2783.
func atomicMigration(version string) bool { return knowsMigration(version) && version != "9.0.0" }

// knowsMigration tells whether a server has the commands of atomic migration, which
// came with Valkey 9.0.
func knowsMigration(version string) bool {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(head)
	return err == nil && n >= 9
}
