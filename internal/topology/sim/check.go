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
	"fmt"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// violate notes a broken invariant.
func (s *Sim) violate(format string, args ...any) {
	s.Violations = append(s.Violations, fmt.Sprintf("t=%.1fs step %d: ", s.now.Seconds(), s.Steps)+fmt.Sprintf(format, args...))
}

// owner is the process that has a slot by right: of all that claim it, dead ones
// too, the one with the greatest config epoch.
func (s *Sim) owner(slot int) *node {
	var out *node
	for _, n := range s.claimants {
		if n.primary && int(n.table[slot]) == n.idx && (out == nil || n.epoch > out.epoch) {
			out = n
		}
	}
	return out
}

// refreshClaimants lists the processes that may own something.
func (s *Sim) refreshClaimants() {
	s.claimants = s.claimants[:0]
	for _, list := range [2][]*node{s.alive, s.ghosts} {
		for _, n := range list {
			if n.primary && len(n.own()) > 0 {
				s.claimants = append(s.claimants, n)
			}
		}
	}
}

// disown takes slots that were assigned anew from the dead.
func (s *Sim) disown(n *node, rs []topology.SlotRange) {
	for _, o := range s.ghosts {
		for _, r := range rs {
			for i := r.Start; i <= r.End; i++ {
				if int(o.table[i]) == o.idx {
					o.table[i] = nobody
				}
			}
		}
		o.changed()
	}
	s.refreshClaimants()
	for k := range keyCount {
		for _, r := range rs {
			if sl := keySlot(k); r.Start <= sl && sl <= r.End && s.acked[k] > n.data[k] {
				if s.copies(k) == 0 {
					s.acked[k] = n.data[k]
				}
			}
		}
	}
}

// holder is the process that has the newest value of a key by right: the owner
// of its slot, or the target of an open slot that it was moved to.
func (s *Sim) holder(k int) *node {
	o := s.owner(keySlot(k))
	if o == nil {
		return nil
	}
	if m, ok := o.open[keySlot(k)]; ok && m.migrating && o.data[k] == 0 {
		if t := s.nodes[m.peer]; t.data[k] > 0 {
			return t
		}
	}
	return o
}

// copies returns the newest value that a live copy of the key by right has.
func (s *Sim) copies(k int) uint32 {
	h := s.holder(k)
	if h == nil {
		return 0
	}
	if h.up {
		return h.data[k]
	}
	top := uint32(0)
	for _, r := range s.alive {
		if r.shard == h.shard && !r.pod.retired {
			top = max(top, r.data[k])
		}
	}
	return top
}

// excuseDead lowers what the client may expect to what is left after a death.
func (s *Sim) excuseDead() {
	s.refreshClaimants()
	for k := range keyCount {
		s.acked[k] = min(s.acked[k], s.copies(k))
	}
}

// excuse lowers what the client may expect to what a replica has that Valkey
// itself is about to promote.
func (s *Sim) excuse(r *node) {
	for k := range keyCount {
		if int(r.table[keySlot(k)]) == r.master {
			s.acked[k] = min(s.acked[k], r.data[k])
		}
	}
}

// excuseUnreachable does so for an ordered failover of a dead primary: only
// replicas that do not answer may have had more, or whose pod was deleted by force:
// their processes end at any moment, so that one of them is no choice (seed 1614).
func (s *Sim) excuseUnreachable(r *node) {
	for k := range keyCount {
		if int(r.table[keySlot(k)]) != r.master || s.acked[k] <= r.data[k] {
			continue
		}
		better := false
		for _, o := range s.alive {
			if o != r && !o.primary && o.pod.pod != topology.PodDead && o.master == r.master && s.truth.answered[o.pod.name] && o.data[k] > r.data[k] {
				better = true
			}
		}
		if !better && !s.nodes[r.master].up {
			s.acked[k] = min(s.acked[k], r.data[k])
		}
	}
}

// checkData checks that no acknowledged write is gone.
func (s *Sim) checkData() {
	s.refreshClaimants()
	for k := range keyCount {
		if s.acked[k] == 0 {
			continue
		}
		if got := s.copies(k); got < s.acked[k] {
			o := s.holder(k)
			name := "nobody"
			if o != nil {
				name = o.pod.name
			}
			s.violate("key %d of slot %d: acknowledged %d, its owner %s has %d", k, keySlot(k), s.acked[k], name, got)
			s.acked[k] = got
		}
	}
}

// checkOwners checks that no slot has two owners for long.
func (s *Sim) checkOwners() {
	var seen topology.SlotSet
	both := false
	for _, n := range s.claimants {
		if !n.answers() || n.isolated {
			continue
		}
		set := topology.NewSlotSet(n.own()...)
		both = both || seen.Intersects(&set)
		seen.Union(&set)
	}
	switch {
	case !both:
		s.bothSince = 0
	case s.bothSince == 0:
		s.bothSince = s.now
	case s.now-s.bothSince > 40*time.Second:
		s.violate("two processes claim the same slot for 40 s")
		s.bothSince = s.now
	}
}

// client writes and reads as clients do.
func (s *Sim) client() {
	for range 4 {
		k := s.rng.IntN(keyCount)
		h := s.holder(k)
		if h == nil || !h.answers() || h.isolated || h.paused || !h.ok || !h.primary {
			continue
		}
		if h.data[k] < s.acked[k] {
			s.violate("client reads %d of key %d, acknowledged was %d", h.data[k], k, s.acked[k])
		}
		s.value++
		h.data[k], s.acked[k] = s.value, s.value
		h.offset += 100
	}
}

// truth is what is really so when the provider observes.
type truth struct {
	goal     topology.Goal
	synced   map[string]bool
	alive    map[string]bool
	answered map[string]bool
	ok       map[string]bool
	faults   int
}

func (s *Sim) takeTruth(g topology.Goal) {
	t := truth{goal: g, synced: map[string]bool{}, alive: map[string]bool{}, ok: map[string]bool{}, answered: s.answered, faults: s.faults}
	for _, m := range s.members {
		n := m.node
		if n == nil || !n.answers() || n.isolated {
			continue
		}
		t.alive[m.name] = true
		t.synced[m.name] = s.isCopy(n)
		t.ok[m.name] = n.ok
	}
	s.truth = t
}

// blind tells whether the provider could not know all that it needs to be held
// responsible: something happened since it looked.
func (s *Sim) blind() bool { return s.truth.faults != s.faults || s.cacheFaults != s.faults }

// isCopy tells whether a process holds all data of slots: as their primary or as
// a replica in sync.
func (s *Sim) isCopy(n *node) bool {
	if n.primary {
		return len(n.own()) > 0
	}
	p := s.nodes[n.master]
	return n.linkUp && !n.syncing && p.up && p.primary && len(p.own()) > 0
}

func (s *Sim) checkCreate(a topology.CreateNode) {
	have := 0
	for _, m := range s.members {
		if m.name == a.Name {
			return
		}
		if m.shard != a.Shard || m.retired || m.deleting || m.evicted || m.phase == topology.PhaseLeaving || s.outdated(m) != "" || m.pod == topology.PodDead {
			continue
		}
		if h := s.hosts[m.host]; (h.down || h.lost) && (m.node != nil || m.bound) {
			continue
		}
		if n := m.node; n != nil && (!n.up || n.id != m.id && m.id != "" || s.orphan(n)) {
			continue
		}
		have++
	}
	if have >= s.truth.goal.Replicas+1 && !s.blind() && s.edited < s.cachedAt {
		s.violate("member %s is made although shard %d has %d good ones", a.Name, a.Shard, have)
	}
}

// orphan tells whether a process follows one that is dead and owned no slots.
func (s *Sim) orphan(n *node) bool {
	p := s.nodes[n.master]
	return !n.primary && !p.up && len(p.own()) == 0
}

// checkRetire checks that a member that lives is not needed.
func (s *Sim) checkRetire(m *member) {
	n := m.node
	// The pod of one that Kubernetes holds for dead is gone already.
	if n == nil || !n.up || m.pod == topology.PodDead || n.id != m.id && m.id != "" {
		return
	}
	if s.rightful(n) {
		s.violate("member %s is retired although it lives and owns slots", m.name)
		return
	}
	if !s.isCopy(n) || s.blind() {
		return
	}
	others := 0
	for _, o := range s.members {
		if o != m && o.node != nil && s.truth.synced[o.name] && !o.retired && !o.evicted && o.node.shard == n.shard {
			others++
		}
	}
	if s.now-n.roleAt < 2*time.Second && m.phase != topology.PhaseJoining {
		s.violate("member %s is retired %v after its role changed", m.name, s.now-n.roleAt)
	}
	if m.shard < s.truth.goal.Shards && others < s.truth.goal.Replicas+1 {
		s.violate("member %s is retired with %d copies left, %d are asked for", m.name, others, s.truth.goal.Replicas+1)
	}
}

// gone tells whether a process is dead for all that anybody can know: Kubernetes
// says so, and it cannot be reached.
func (s *Sim) gone(n *node) bool { return n.pod.pod == topology.PodDead && !s.answersUs(n.pod) }

// rightful tells whether a process owns a slot that nobody took since.
func (s *Sim) rightful(n *node) bool {
	for _, r := range n.own() {
		for i := r.Start; n.primary && i <= r.End; i++ {
			if s.owner(i) == n {
				return true
			}
		}
	}
	return false
}

// checkAddSlots checks that slots have no owner that lives.
func (s *Sim) checkAddSlots(n *node, a topology.AddSlots) {
	set := topology.NewSlotSet(a.Ranges...)
	for _, o := range s.alive {
		if o == n || !o.primary || s.gone(o) {
			continue
		}
		own := topology.NewSlotSet(o.own()...)
		if own.Intersects(&set) {
			s.violate("slots %s are assigned to %s although %s lives and owns some", topology.FormatRanges(a.Ranges), a.Node, o.pod.name)
			return
		}
	}
	for k := range keyCount {
		if h := s.holder(k); set.Has(keySlot(k)) && s.copies(k) > 0 && h != n && h.shard != n.shard && (!h.up || !s.gone(h)) {
			s.violate("slot %d is assigned to %s although a copy of its data lives", keySlot(k), a.Node)
			return
		}
	}
}

func (s *Sim) checkFailover(n *node, a topology.Failover) {
	p := s.nodes[n.master]
	if a.Mode != topology.FailoverDefault {
		if p.up && !s.gone(p) {
			s.violate("failover %s of %s is ordered although %s lives", a.Mode, a.Node, p.pod.name)
		}
		return
	}
	s.orderedAt[a.Node] = s.cachedAt
	if a.Balance && !s.blind() && s.edited < s.cachedAt {
		s.checkBalance(a)
	}
	if !s.truth.synced[a.Node] && !s.blind() {
		s.violate("failover to %s is ordered although it is not in sync", a.Node)
	}
	if !s.truth.ok[a.Node] && !s.blind() {
		s.violate("failover to %s is ordered although its own cluster state is not ok", a.Node)
	}
}

// ordered counts ordered failovers of a shard.
func (s *Sim) ordered(r *node) {
	if p := s.nodes[r.master].pod; p.deleting || p.evicted || p.phase == topology.PhaseLeaving || s.orderedAt[r.pod.name] <= s.edited {
		return
	}
	if r.manual.balance {
		s.balanced[r.pod.shard]++
		// One that had no better place at first may go on when others have moved.
		if s.balanced[r.pod.shard] > 2 {
			s.violate("the primary of shard %d is moved to and fro", r.pod.shard)
		}
		return
	}
	s.failovers[r.pod.shard]++
	if s.failovers[r.pod.shard] > 1 {
		s.violate("shard %d has %d ordered failovers in one roll", r.pod.shard, s.failovers[r.pod.shard])
	}
}

// touch notes that something happened to a shard that may cause a failover.
func (s *Sim) touch(shard int) {
	delete(s.failovers, shard)
	clear(s.balanced)
}

// checkBalance checks a failover that is only to spread the primaries better.
func (s *Sim) checkBalance(a topology.Failover) {
	from, to := s.member(a.Old), s.member(a.Node)
	zones, hosts := s.spread()
	dz, dh := zones[from.host%zoneCount]-zones[to.host%zoneCount], hosts[from.host]-hosts[to.host]
	sameZone := from.host%zoneCount == to.host%zoneCount
	// One that changes nothing may make room for another: they are bounded by how
	// often one shard moves.
	if better := !sameZone && dz > 0 || sameZone && dh > 0; !better {
		s.violate("the primary of shard %d moves from host h%d to h%d, which spreads primaries no better: zones %v, hosts %v", a.Shard, from.host, to.host, zones, hosts)
	}
	for _, m := range s.members {
		if m.pod != topology.PodRunning || m.evicted || m.deleting || m.phase != topology.PhaseActive || s.outdated(m) != "" || !s.truth.synced[m.name] {
			s.violate("the primary of shard %d moves for balance although %s is not at rest", a.Shard, m.name)
			return
		}
	}
}

// spread counts the primaries by zone and by host.
func (s *Sim) spread() (zones [zoneCount]int, hosts [hostCount]int) {
	for _, n := range s.alive {
		if n.primary && len(n.own()) > 0 && !n.isolated && !n.pod.forced {
			zones[n.pod.host%zoneCount]++
			hosts[n.pod.host]++
		}
	}
	return zones, hosts
}

// unbalanced tells of a failover that would spread the primaries better.
func (s *Sim) unbalanced() string {
	zones, hosts := s.spread()
	for _, r := range s.alive {
		p := s.nodes[r.master]
		if r.primary || r.isolated || r.pod.forced || !p.primary || len(p.own()) == 0 {
			continue
		}
		from, to := p.pod.host, r.pod.host
		dz, dh := zones[from%zoneCount]-zones[to%zoneCount], hosts[from]-hosts[to]
		sameZone := from%zoneCount == to%zoneCount
		if !sameZone && dz > 1 || (sameZone || dz == 1) && dh > 1 {
			return fmt.Sprintf("primary %s of host h%d could be on h%d: zones %v, hosts %v", p.pod.name, from, to, zones, hosts)
		}
	}
	return ""
}

func (s *Sim) checkForget(n, o *node) {
	if !o.up || s.gone(o) {
		return
	}
	if m := s.member(o.pod.name); m == nil || m.node != o {
		return
	}
	s.violate("%s is forgotten by %s although it lives", o.pod.name, n.pod.name)
}

// checkPlan checks a plan as a whole.
func (s *Sim) checkPlan(p topology.Plan) {
	failing := map[int]bool{}
	rolling := map[int]bool{}
	for _, a := range p.Actions {
		f, ok := a.(topology.Failover)
		if !ok {
			continue
		}
		if failing[f.Shard] {
			s.violate("two failovers in shard %d in one plan", f.Shard)
		}
		failing[f.Shard] = true
		if f.Mode == topology.FailoverDefault {
			rolling[f.Shard] = true
		}
	}
}

// checkRolling checks that not too many shards are in motion in a roll.
func (s *Sim) checkRolling(p topology.Plan) {
	shards := map[int]bool{}
	for _, a := range p.Actions {
		c, ok := a.(topology.CreateNode)
		if !ok || c.Shard >= s.truth.goal.Shards {
			continue
		}
		outdated, members, fine := 0, 0, true
		for _, m := range s.members {
			if m.shard != c.Shard || m.retired {
				continue
			}
			members++
			if s.outdated(m) != "" {
				outdated++
			}
			if m.pod != topology.PodRunning || s.hosts[m.host].down || m.evicted || m.deleting || m.phase != topology.PhaseActive || !m.node.answers() || m.node.id != m.id {
				fine = false
			}
		}
		if fine && outdated > 0 && members == s.truth.goal.Replicas+1 {
			shards[c.Shard] = true
		}
	}
	if budget := max(1, s.truth.goal.Shards/10); len(shards) > budget && s.edited < s.passAt {
		s.violate("%d shards start to roll at once, %d may", len(shards), budget)
	}
}

// checkConverged checks what a plan that says so promises.
func (s *Sim) checkConverged(p topology.Plan) {
	if !p.Converged || s.blind() || s.cachedAt != s.passAt {
		return
	}
	owned := topology.SlotSet{}
	primaries := 0
	for _, n := range s.alive {
		if !n.primary || len(n.own()) == 0 || n.isolated || n.pod.forced {
			continue
		}
		primaries++
		set := topology.NewSlotSet(n.own()...)
		if owned.Intersects(&set) {
			s.violate("converged with a slot that two own")
		}
		owned.Union(&set)
		replicas := 0
		for _, r := range s.alive {
			if !r.primary && r.master == n.idx && r.linkUp && !r.isolated && !r.pod.forced {
				replicas++
			}
		}
		if replicas != s.goal.Replicas {
			s.violate("converged with %d replicas of %s", replicas, n.pod.name)
		}
	}
	if primaries != s.goal.Shards || owned.Len() != topology.SlotCount {
		s.violate("converged with %d primaries and %d slots", primaries, owned.Len())
	}
	if len(s.members) != s.goal.Shards*(s.goal.Replicas+1) {
		s.violate("converged with %d members", len(s.members))
	}
	if why := s.unbalanced(); why != "" && p.Rest == 0 {
		s.violate("converged although %s", why)
	}
	for _, m := range s.members {
		if why := s.outdated(m); why != "" {
			s.violate("converged with %s although %s", m.name, why)
		}
	}
}
