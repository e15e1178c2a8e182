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

package topology

import (
	"fmt"
	"slices"
	"time"
)

// reportForeign reports node ids in a view that are neither ours nor were, as
// far as they own slots: they come from a merge with another cluster.
func (w *world) reportForeign() {
	for _, id := range w.ghosts() {
		if s := w.stale[id]; s != nil && w.seenAlive(id) {
			w.plan.Problems = append(w.plan.Problems, fmt.Sprintf(
				"node %s is not a member of this cluster but owns slots %s in its view; remove it by hand with CLUSTER FORGET once its data is safe",
				id, FormatRanges(s.Ranges())))
		}
	}
}

// seenAlive tells whether a live member has a working link to a node id.
func (w *world) seenAlive(id string) bool {
	return slices.ContainsFunc(w.live, func(m *member) bool {
		p, ok := m.Process.Peers[id]
		return ok && p.usable() && p.LinkUp
	})
}

// healPrimaries gives every shard whose primary is known to be dead another one.
// A primary that merely does not answer is left to Valkey's own failover.
func (w *world) healPrimaries() {
	for _, s := range w.shards {
		if s.holder == "" {
			w.takeLeftover(s)
			continue
		}
		if r := w.heir(s); r != nil {
			w.promote(s, r)
			continue
		}
		w.replaceLost(s)
	}
}

// takeLeftover gives a shard's primary the slots that its dead predecessor had
// got so lately that the primary, its replica then, did not know of it.
func (w *world) takeLeftover(s *shard) {
	old := w.byID[s.leftover]
	if old == nil || !old.dead || !w.knownDead(old.ID) || w.copyMayLive(s) {
		return
	}
	w.do(AddSlots{Node: s.primary.Name, Ranges: w.stale[old.ID].Ranges(), Take: true, Bump: true})
}

// heir returns the live replica of the shard's lost primary that has most data.
func (w *world) heir(s *shard) *member {
	return best(s.live(), func(m *member) int {
		if m.Process.Primary || m.Process.PrimaryID != s.holder || m.Process.Syncing {
			return -1
		}
		n := 2 * int(max(0, m.Process.Offset))
		if m.Phase != PhaseJoining {
			n++
		}
		return n
	})
}

// heirPatience is how long after a primary's death a replica that does not answer
// is waited for: it may have more of the data than the others.
const heirPatience = 3 * time.Second

// promote orders a failover of a shard whose primary is known to be dead.
func (w *world) promote(s *shard, r *member) {
	old := w.byID[s.holder]
	// The replica's own link must be down too: with a link that is up the
	// primary lives, whatever Kubernetes says.
	if !w.knownDead(s.holder) || (r.Process.LinkUp && (old == nil || !old.changed)) {
		return
	}
	if w.copyMayLive(s) && (r.Process.Keys == 0 || (old != nil && (!old.dead || old.PodAge < heirPatience))) {
		return
	}
	mode, why := FailoverForce, "its primary is dead"
	if !w.quorum() {
		mode, why = FailoverTakeover, "its primary is dead and a majority of the primaries is lost"
	}
	f := Failover{Node: r.Name, Mode: mode, Shard: s.index, Why: why}
	if old != nil {
		f.Old = old.Name
	}
	w.do(f)
}

// knownDead tells whether two independent signs say that the process of a node
// id is dead. That no other member has a connection to it is one. The other one
// is that Kubernetes says so or that it refuses our connections. Another process
// that answers in its place is a sign that needs no second one.
func (w *world) knownDead(id string) bool {
	m := w.byID[id]
	switch {
	case m == nil:
		// The record of a member only goes after its pod.
		return !w.linked(id)
	case m.changed:
		return true
	case m.Process != nil:
		return false
	}
	return (m.dead || m.Refused) && !w.linked(id)
}

// linked tells whether a live member has a bus connection to a node id. A server
// also calls a connection connected that it only tries to make: to an address
// that is gone it always tries, so one that is marked as failing does not count.
func (w *world) linked(id string) bool {
	return slices.ContainsFunc(w.live, func(m *member) bool {
		p := m.Process.Peers[id]
		return p.LinkUp && !p.Fail && !p.PFail
	})
}

// copyMayLive tells whether a member of the shard that does not answer may hold
// the data of the shard's lost primary.
func (w *world) copyMayLive(s *shard) bool {
	return slices.ContainsFunc(s.members, func(m *member) bool {
		if m.ID == s.holder || m.live || (!m.silent() && !m.lingers()) {
			return false
		}
		return m.Phase != PhaseJoining || slices.ContainsFunc(w.live, func(o *member) bool {
			return o.Process.Peers[m.ID].PrimaryID == s.holder
		})
	})
}

// replaceLost gives the slots of a lost primary without a copy to a fresh one.
func (w *world) replaceLost(s *shard) {
	old := w.byID[s.holder]
	if old == nil || !old.dead || !w.knownDead(old.ID) || w.followed(old.ID) || w.copyMayLive(s) {
		return
	}
	if w.surplus(s) {
		w.forgetEverywhere(old)
		return
	}
	fresh := best(s.live(), func(m *member) int {
		if !m.keep || !m.empty() || !m.joined {
			return -1
		}
		return 1
	})
	if fresh != nil {
		w.forgetEverywhere(old)
	}
}

func (w *world) forgetEverywhere(old *member) {
	for _, m := range w.live {
		if _, ok := m.Process.Peers[old.ID]; ok {
			w.do(Forget{Node: m.Name, ID: old.ID, Name: old.Name})
		}
	}
}

// settleClaims lets the claims of primaries prevail that others do not believe:
// a slot moved to them, but their config epoch is not greater than that of the
// former owner. Valkey only solves that by itself between two that claim.
func (w *world) settleClaims() {
	for _, p := range w.live {
		if p.holds() && slices.ContainsFunc(w.live, func(q *member) bool { return w.doubted(p, q) }) && !w.contested(p) {
			w.do(BumpEpoch{Node: p.Name})
		}
	}
}

// contested tells whether another primary claims a slot of p too. One of the two was
// away and has not heard yet that the other one has taken its place; Valkey settles
// that, and a greater epoch for the wrong one would undo it.
func (w *world) contested(p *member) bool {
	return slices.ContainsFunc(w.live, func(o *member) bool {
		return o != p && o.holds() && o.Process.Slots.Intersects(&p.Process.Slots)
	})
}

// doubted tells whether somebody takes a slot of p for one of q, which does not
// claim it any more but has the greater epoch.
func (w *world) doubted(p, q *member) bool {
	if p == q || q.Process.Epoch < p.Process.Epoch || !q.Process.Primary {
		return false
	}
	return slices.ContainsFunc(w.live, func(m *member) bool {
		seen := m.Process.Peers[q.ID].Slots
		if m == q || len(seen) == 0 || slices.Equal(seen, q.ranges) {
			return false
		}
		set := NewSlotSet(seen...)
		set.Subtract(&q.Process.Slots)
		return set.Intersects(&p.Process.Slots)
	})
}

// assignSlots assigns the slots that nobody has.
func (w *world) assignSlots() {
	if w.unassigned.Len() == 0 || w.ownerMayLive() {
		return
	}
	if w.unassigned.Len() == SlotCount {
		w.assignAll()
		return
	}
	w.assignRest()
}

// ownerMayLive tells whether a member that does not answer may own slots that
// nobody else knows of. Newcomers learn of an owner's slots only from itself, so
// that only a view of it as a replica says that it owns none.
func (w *world) ownerMayLive() bool {
	return slices.ContainsFunc(w.members, func(m *member) bool {
		if !m.silent() || m.Retired {
			return false
		}
		return !slices.ContainsFunc(w.live, func(o *member) bool {
			p, ok := o.Process.Peers[m.ID]
			return ok && !p.Primary && p.PrimaryID != ""
		})
	})
}

// assignAll makes the first assignment: even ranges, all at once.
func (w *world) assignAll() {
	if !w.readyToForm() {
		return
	}
	w.chosen = true
	rs := EvenRanges(w.goal.Shards)
	for i, s := range w.wanted() {
		w.assign(s.primary, []SlotRange{rs[i]}, uint64(i+1))
	}
}

// readyToForm waits for all members, so that primaries can be spread over hosts,
// but not longer than a while for those that cannot start.
func (w *world) readyToForm() bool {
	for _, s := range w.wanted() {
		if s.primary == nil || !s.primary.keep {
			return false
		}
		missing := w.goal.Replicas + 1 - len(s.live())
		waited := slices.ContainsFunc(s.live(), func(m *member) bool { return m.PodAge > formPatience })
		if missing > 0 && !waited {
			return false
		}
	}
	return true
}

// formPatience is how long a shard waits for all its members before it is formed
// with those that run.
const formPatience = 20 * time.Second

// assignRest gives slots that were lost to the shards that have none, or to the
// smallest one.
func (w *world) assignRest() {
	shards := filter(w.wanted(), func(s *shard) bool { return s.primary != nil && s.holder == "" && s.primary.keep })
	if len(shards) == 0 {
		// Primaries that go cannot hand over while slots are missing.
		shards = filter(w.wanted(), func(s *shard) bool { return s.primary != nil && s.holder == "" && s.primary.holds() })
	}
	if len(shards) == 0 {
		return
	}
	without := filter(shards, func(s *shard) bool { return s.primary.slots() == 0 })
	// A shard that has no primary yet will want the slots: they wait for it.
	if len(without) == 0 && slices.ContainsFunc(w.wanted(), func(s *shard) bool { return s.hollow && s.primary == nil }) {
		return
	}
	if len(without) == 0 {
		without = shards[:1]
		for _, s := range shards {
			if s.primary.slots() < without[0].primary.slots() {
				without[0] = s
			}
		}
	}
	rest := w.unassigned
	n := (rest.Len() + len(without) - 1) / len(without)
	for _, s := range without {
		part := rest.take(n)
		if part.Len() == 0 || (!w.forming && !s.primary.joined) {
			continue
		}
		w.assign(s.primary, part.Ranges(), uint64(s.index)+1) //nolint:gosec // An index is not negative.
	}
}

func (w *world) assign(m *member, rs []SlotRange, epoch uint64) {
	if len(m.Process.Peers) > 0 || m.Process.Epoch > 0 {
		epoch = 0
	}
	set := NewSlotSet(rs...)
	take := false
	for _, p := range m.Process.Peers {
		held := NewSlotSet(p.Slots...)
		take = take || held.Intersects(&set)
	}
	w.do(AddSlots{Node: m.Name, Ranges: rs, Epoch: epoch, Take: take, Bump: !w.forming && w.owned.Len() > 0})
}

// wanted returns the shards of the goal.
func (w *world) wanted() []*shard {
	return filter(w.shards, func(s *shard) bool { return !w.surplus(s) })
}
