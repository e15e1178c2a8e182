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
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// keysPerJob bounds one atomic migration. At its end the source deletes what has
	// moved in one go and tells of every slot, with all clients waiting: 0.07 s for
	// 13,000 keys in 1,100 slots on Valkey 9.1 and an idle machine, several times that
	// on a busy one. Larger jobs are hardly faster.
	keysPerJob = 7500
	// keysPerMove bounds what one classic step moves before the next look. The step
	// is bounded by time too, which comes first but for tiny keys.
	keysPerMove = 20000
	// retryMigration is the wait after a failed migration.
	retryMigration = 10 * time.Second
)

// quotas returns how many slots each shard is to have: none for those that go,
// and an even share for the others, the larger shares to those that have most.
func (w *world) quotas() map[*shard]int {
	wanted := w.wanted()
	slices.SortStableFunc(wanted, func(a, b *shard) int { return cmp.Compare(slotsOf(b), slotsOf(a)) })
	q := map[*shard]int{}
	n := len(wanted)
	for i, s := range wanted {
		q[s] = SlotCount / n
		if i < SlotCount%n {
			q[s]++
		}
	}
	return q
}

func slotsOf(s *shard) int {
	n := 0
	for _, m := range s.members {
		if m.holds() {
			n += m.slots()
		}
	}
	return n
}

// slotsWait tells whether slots have to move.
func (w *world) slotsWait() bool {
	if w.unassigned.Len() > 0 || len(w.stale) > 0 {
		return false
	}
	q := w.quotas()
	return slices.ContainsFunc(w.shards, func(s *shard) bool { return slotsOf(s) > q[s] })
}

// A transfer is a number of slots that one shard owes another.
type transfer struct {
	from, to *shard
	slots    int
}

// transfers pairs shards that have too many slots with those that have too few.
func (w *world) transfers() []transfer {
	q := w.quotas()
	var out []transfer
	give := filter(w.shards, func(s *shard) bool { return slotsOf(s) > q[s] })
	get := filter(w.wanted(), func(s *shard) bool { return slotsOf(s) < q[s] })
	slices.SortStableFunc(give, func(a, b *shard) int { return cmp.Compare(slotsOf(b)-q[b], slotsOf(a)-q[a]) })
	spare, room := map[*shard]int{}, map[*shard]int{}
	for _, s := range give {
		spare[s] = slotsOf(s) - q[s]
	}
	for _, s := range get {
		room[s] = q[s] - slotsOf(s)
	}
	for _, f := range give {
		for _, t := range get {
			n := min(spare[f], room[t])
			if n == 0 {
				continue
			}
			spare[f] -= n
			room[t] -= n
			out = append(out, transfer{from: f, to: t, slots: n})
		}
	}
	return out
}

// balance moves slots between pairs of shards, disjoint pairs at once.
func (w *world) balance() {
	if !w.slotsWait() {
		return
	}
	if why := w.tooSmall(); why != "" {
		w.plan.Problems = append(w.plan.Problems, why)
		return
	}
	for _, t := range w.transfers() {
		if t.from.busy || t.to.busy || !w.sound(t.from) || !w.sound(t.to) {
			continue
		}
		if w.move(t.from.primary, t.to.primary, t.slots) {
			t.from.busy, t.to.busy = true, true
		}
	}
}

// sound tells whether a shard has all that it needs to take part in a migration.
func (w *world) sound(s *shard) bool {
	p := s.primary
	if p == nil || s.holder != "" || !p.Process.ClusterOK || s.rolling || p.PodDeleting {
		return false
	}
	if w.surplus(s) {
		return true
	}
	return p.keep && len(w.ready(s)) >= w.goal.Replicas+1 && (p.slots() == 0 || w.agreeOnPrimary(p))
}

// reunite moves the slots of a second primary of a shard to the first one: when
// their primary dies right after it got slots, replicas that know of them and
// replicas that do not may each be elected for a part.
func (w *world) reunite() {
	for _, s := range w.shards {
		if s.primary == nil || s.busy || s.holder != "" {
			continue
		}
		for _, m := range s.live() {
			if m != s.primary && m.holds() && !w.contested(m) && w.move(m, s.primary, m.slots()) {
				s.busy = true
				break
			}
		}
	}
}

// move starts one step of a transfer and tells whether it did.
func (w *world) move(from, to *member, slots int) bool {
	if j := lastJob(from, to); j != nil && j.Failed && j.Age < retryMigration {
		return false
	}
	if !to.joined || !from.joined {
		return false
	}
	atomic := from.Process.AtomicMigration && to.Process.AtomicMigration
	if !atomic && major(from.Process.Version) > major(to.Process.Version) {
		w.plan.Problems = append(w.plan.Problems, fmt.Sprintf(
			"slots cannot move from %s (Valkey %s) to %s (Valkey %s): an older server does not read what a newer one writes",
			from.Name, from.Process.Version, to.Name, to.Process.Version))
		return false
	}
	budget := int64(keysPerMove)
	if atomic {
		budget = keysPerJob
	}
	n := chunk(from, slots, budget)
	own := from.Process.Slots
	part := own.take(n)
	if atomic {
		w.do(MigrateSlots{From: from.Name, To: to.Name, FromID: from.ID, ToID: to.ID, Ranges: part.Ranges(), KeysHint: perSlot(from) * int64(n)})
		return true
	}
	m := MoveSlots{From: from.Name, To: to.Name, FromID: from.ID, ToID: to.ID}
	for _, r := range part.Ranges() {
		for i := r.Start; i <= r.End; i++ {
			m.Slots = append(m.Slots, i)
		}
	}
	w.do(m)
	return true
}

// chunk returns how many of n slots to move at once so that about budget keys go.
func chunk(from *member, n int, budget int64) int {
	per := perSlot(from)
	if per == 0 {
		return min(n, maxChunk)
	}
	return min(n, maxChunk, max(1, int(budget/per)))
}

// maxChunk bounds the slots of one step, also of empty ones.
const maxChunk = 4096

func perSlot(m *member) int64 {
	n := int64(m.slots())
	if n == 0 {
		return 0
	}
	return (m.Process.Keys + n - 1) / n
}

// lastJob returns the newest export from one member to another.
func lastJob(from, to *member) *Job {
	for i, j := range from.Process.Jobs {
		if j.Export && j.TargetID == to.ID {
			return &from.Process.Jobs[i]
		}
	}
	return nil
}

func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(head)
	if err != nil {
		return 0
	}
	return n
}

// tooSmall says why the data of the shards that go does not fit into the rest.
func (w *world) tooSmall() string {
	var leaving, free int64
	for _, s := range w.shards {
		p := s.primary
		if p == nil || !p.live {
			continue
		}
		if w.surplus(s) {
			leaving += p.Process.UsedMemory
			continue
		}
		if p.Process.MaxMemory == 0 {
			return ""
		}
		free += max(0, p.Process.MaxMemory-p.Process.UsedMemory)
	}
	base := int64(0)
	for _, s := range w.shards {
		if w.surplus(s) && s.primary != nil && s.primary.live {
			// An empty server uses memory too, which does not move.
			base += min(s.primary.Process.UsedMemory, emptyServer)
		}
	}
	if need := leaving - base; need > free*9/10 {
		return fmt.Sprintf("scaling in to %d shards does not start: %d MiB do not fit into the %d MiB of maxmemory that are free; raise maxmemory or keep more shards",
			w.goal.Shards, need>>20, free>>20)
	}
	return ""
}

// emptyServer is what a server without data uses, in bytes.
const emptyServer = 4 << 20

// finishOpenSlots continues classic migrations that were interrupted, from the
// markers that the servers keep, and closes those that lead nowhere.
func (w *world) finishOpenSlots() {
	moves := map[[2]*member][]int{}
	for _, m := range w.live {
		for _, o := range m.Process.Open {
			from, to := m, w.current(o.PeerID)
			if !o.Migrating {
				from, to = to, from
			}
			switch {
			case from == nil || to == nil || !from.live || !to.live || !from.Process.Primary || !to.Process.Primary:
				if w.peerGone(o.PeerID) {
					w.endOpen(m, o)
				}
			case !from.Process.Slots.Has(o.Slot):
				w.endOpen(m, o)
			default:
				k := [2]*member{from, to}
				if !slices.Contains(moves[k], o.Slot) {
					moves[k] = append(moves[k], o.Slot)
				}
			}
		}
	}
	for _, m := range w.live {
		for _, o := range w.live {
			slots := moves[[2]*member{m, o}]
			if len(slots) == 0 {
				continue
			}
			slices.Sort(slots)
			w.do(MoveSlots{From: m.Name, To: o.Name, FromID: m.ID, ToID: o.ID, Slots: slots})
		}
	}
}

// endOpen ends the open state of a slot whose other end is gone. A slot that was
// being imported and that nobody has is kept: some of its keys are here.
func (w *world) endOpen(m *member, o OpenSlot) {
	switch {
	case o.Migrating || !m.Process.Primary || w.owned.Has(o.Slot):
		w.do(CloseSlot{Node: m.Name, Slot: o.Slot})
	case w.unassigned.Has(o.Slot) && !w.ownerMayLive():
		w.assign(m, []SlotRange{{o.Slot, o.Slot}}, 0)
		w.unassigned.Remove(o.Slot)
	}
}

// current returns the member with a node id or, if it is no primary any more, the
// one that took its place in its shard.
func (w *world) current(id string) *member {
	m := w.byID[id]
	if m == nil || (m.live && m.Process.Primary) {
		return m
	}
	if s := w.shardOf(id); s != nil && s.primary != nil && s.primary.live {
		return s.primary
	}
	return m
}

// peerGone tells whether the other end of an open slot will not come back.
func (w *world) peerGone(id string) bool {
	m := w.byID[id]
	switch {
	case m == nil || m.Retired:
		return true
	case m.dead:
		// A replica that takes its place has the keys that have moved.
		return !m.lingers() && w.stale[id] == nil && !w.followed(id)
	}
	return m.live && !m.Process.Primary
}
