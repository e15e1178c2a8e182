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

package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// A member is one member as the API holds it, with its pod and its process.
type member struct {
	name     string
	shard    int
	id       string
	phase    topology.Phase
	deleting bool
	retired  bool
	template int

	pod      topology.PodPhase
	evicted  bool
	made     time.Duration
	died     time.Duration
	message  string
	host     int
	startAt  time.Duration
	stopAt   time.Duration
	removeAt time.Duration
	// bound means that the pod was given to a host although it does not run yet.
	bound  bool
	doomed bool
	// forced means that the pod was deleted without anybody knowing its end.
	forced bool
	walled time.Duration
	node   *node
}

// createMember makes a member and its pod, once.
func (s *Sim) createMember(name string, shard int) {
	for _, m := range s.members {
		if m.name == name {
			return
		}
	}
	m := &member{name: name, shard: shard, phase: topology.PhaseJoining, template: s.template, pod: topology.PodPending, made: s.now}
	m.host = s.rng.IntN(hostCount)
	m.startAt = s.now + 300*time.Millisecond + time.Duration(s.rng.Int64N(int64(2*time.Second)))
	m.doomed = s.now < s.crashLoop && s.rng.Float64() < 0.8
	s.members = append(s.members, m)
	slices.SortFunc(s.members, func(a, b *member) int { return cmp.Compare(a.name, b.name) })
}

// tickPods starts, stops and removes pods.
func (s *Sim) tickPods() {
	for _, m := range s.members {
		switch {
		case m.pod == topology.PodPending:
			s.startPod(m)
		case s.hosts[m.host].down:
			// Nobody hears of it.
		case m.pod == topology.PodRunning && !m.node.up && m.died == 0:
			// The kubelet reports a container that ended a little later.
			m.died = s.now + time.Duration(s.rng.Int64N(int64(2*time.Second)))
		case m.pod == topology.PodRunning && m.died > 0 && s.now > m.died:
			m.pod, m.died, m.message = topology.PodDead, s.now, "its container ended"
		}
		if m.retired && s.hosts[m.host].lost && m.pod == topology.PodRunning {
			s.force(m)
		}
		if m.stopAt > 0 && s.now >= m.stopAt && m.node != nil && m.node.up && !s.hosts[m.host].down {
			// What a released member got after its release nobody may count on.
			s.kill(m.node, !m.retired || s.rightful(m.node))
		}
		if m.retired && m.stopAt == 0 {
			s.stopRetired(m)
		}
	}
	s.removeMembers()
}

func (s *Sim) startPod(m *member) {
	switch {
	case m.retired || m.evicted:
		m.pod, m.died = topology.PodDead, s.now
	case s.now < s.unschedulable:
		m.startAt, m.message = max(m.startAt, s.now+500*time.Millisecond), "0/6 nodes are available"
	case s.now >= m.startAt && !s.schedule(m):
		m.message = "0/6 nodes are available: they are unschedulable"
	case s.now >= m.startAt && s.hosts[m.host].down:
		m.bound = true
	case s.now >= m.startAt:
		m.pod, m.message = topology.PodRunning, ""
		m.node = s.newNode(m)
		if m.doomed {
			m.stopAt = s.now + time.Duration(s.rng.Int64N(int64(3*time.Second)))
		}
	}
}

// stopRetired stops the pod of a member that was released.
func (s *Sim) stopRetired(m *member) {
	m.stopAt = s.now + time.Duration(s.rng.Int64N(int64(1500*time.Millisecond))) + 1
}

// removeMembers removes the records of released members whose pods are gone.
func (s *Sim) removeMembers() {
	for _, m := range s.members {
		if !m.retired || m.pod != topology.PodDead || (m.node != nil && m.node.up && !m.forced) {
			continue
		}
		if m.removeAt == 0 {
			m.removeAt = s.now + 1 + time.Duration(s.rng.Int64N(int64(3*time.Second)))
		}
	}
	s.members = slices.DeleteFunc(s.members, func(m *member) bool { return m.removeAt > 0 && s.now > m.removeAt })
}

// kill ends a process. If that is no doing of the planner, the writes that only
// it had are excused.
func (s *Sim) kill(n *node, excused bool) {
	if !n.up {
		return
	}
	n.up = false
	for _, j := range n.jobs {
		s.endJob(j, fmt.Sprintf("Connection lost to %s", n.id))
	}
	s.alive = slices.DeleteFunc(s.alive, func(o *node) bool { return o == n })
	s.ghosts = append(s.ghosts, n)
	if !excused {
		return
	}
	s.faults++
	s.touch(n.pod.shard)
	s.excuseDead()
}

// gatherMembers returns what the API holds, without what processes answer.
func (s *Sim) gatherMembers() []cached {
	out := make([]cached, 0, len(s.members))
	for _, m := range s.members {
		c := cached{m: m, Member: topology.Member{
			Name: m.name, Shard: m.shard, ID: m.id, Phase: m.phase, Deleting: m.deleting, Retired: m.retired, Pod: m.pod,
			PodDeleting: m.evicted, PodAge: s.now - m.made, PodMessage: m.message, Outdated: s.outdated(m),
		}}
		if m.pod == topology.PodDead {
			c.PodAge = s.now - m.died
		}
		if m.node != nil || m.bound {
			c.Host, c.Zone, c.HostLost = fmt.Sprintf("h%d", m.host), zoneOf(m.host), s.hosts[m.host].lost
		}
		if m.node != nil {
			c.IP = m.node.ip
		}
		out = append(out, c)
	}
	return out
}

// A cached is a member as the provider's cache holds it.
type cached struct {
	topology.Member
	m *member
}

// snapshot is what the provider observes now.
func (s *Sim) snapshot() topology.Snapshot {
	for _, m := range s.members {
		// The shell records a node id durably before it is used.
		if m.id == "" && m.node != nil && s.answersUs(m) && s.rng.Float64() < 0.95 {
			m.id = m.node.id
		}
	}
	if s.cache == nil || s.rng.Float64() < 0.85 {
		s.cache = s.gatherMembers()
		s.cachedAt, s.cacheFaults = s.now, s.faults
	}
	s.answered = map[string]bool{}
	snap := topology.Snapshot{Members: make([]topology.Member, 0, len(s.cache))}
	for _, c := range s.cache {
		m := c.Member
		if c.m.node != nil && m.IP != "" {
			// One that hangs or is cut off does not end its idle connection.
			walled := s.now < c.m.walled && !c.m.node.hung && !c.m.node.isolated
			m.Refused = (!c.m.node.up || walled) && !s.hosts[c.m.host].down
			m.RoleAge = s.now - c.m.node.roleAt
			if s.answersUs(c.m) && s.rng.Float64() > s.profile.timeouts {
				s.answered[m.Name] = true
				m.Process = s.process(c.m.node)
			}
		}
		snap.Members = append(snap.Members, m)
	}
	return snap
}

// answersUs tells whether the provider gets an answer from a member's process.
func (s *Sim) answersUs(m *member) bool {
	return m.node != nil && m.node.answers() && !m.node.isolated && s.now >= m.walled
}

// process is what a process answers.
func (s *Sim) process(n *node) *topology.Process {
	c := n.slots()
	p := &topology.Process{
		ID: n.id, Version: s.version, AtomicMigration: s.atomic, Primary: n.primary, ClusterOK: n.ok, Epoch: n.epoch,
		LinkUp: n.linkUp, Syncing: n.syncing, Offset: n.offset, Keys: n.keys(), NodeTimeout: n.timeout, SyncDelay: n.delay,
		Peers: make(map[string]topology.Peer, len(s.alive)+len(s.ghosts)),
	}
	p.UsedMemory = 2<<20 + p.Keys*100
	p.Slots.AddRanges(c.ranges[n.idx])
	if !n.primary {
		p.PrimaryID = s.nodes[n.master].id
	}
	for _, list := range [2][]*node{s.alive, s.ghosts} {
		for _, o := range list {
			if v := n.views[o.idx]; v != nil {
				p.Peers[o.id] = s.peer(n, o, v)
			}
		}
	}
	for i, h := range n.shakes {
		p.Peers[fmt.Sprintf("shake-%d-%d", n.idx, i)] = topology.Peer{IP: h.to.ip, Handshake: true, Primary: true}
	}
	for slot, o := range n.open {
		if n.primary {
			p.Open = append(p.Open, topology.OpenSlot{Slot: slot, Migrating: o.migrating, PeerID: s.nodes[o.peer].id})
		}
	}
	slices.SortFunc(p.Open, func(a, b topology.OpenSlot) int { return cmp.Compare(a.Slot, b.Slot) })
	for _, j := range slices.Backward(n.jobs) {
		p.Jobs = append(p.Jobs, topology.Job{
			Export: j.src == n, Active: j.active, Failed: j.failed, SourceID: j.src.id, TargetID: j.dst.id, Ranges: j.ranges,
			Message: j.message, Age: s.now - j.updated,
		})
	}
	return p
}

func (s *Sim) peer(n, o *node, v *view) topology.Peer {
	q := topology.Peer{
		IP: o.ip, Primary: v.primary, Fail: v.fail, PFail: v.pfail, LinkUp: v.linkUp, Slots: n.slots().ranges[o.idx],
	}
	if !v.primary && v.master != 0 {
		q.PrimaryID = s.nodes[v.master].id
	}
	return q
}

func (n *node) keys() int64 {
	k := int64(0)
	for _, v := range n.data {
		if v > 0 {
			k += keyWeight
		}
	}
	return k
}
