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
	"slices"
	"time"
)

const (
	// demotionGrace is how long a former primary stays a replica before it is
	// stopped, so that clients are redirected and not cut off (0 client errors
	// with 3 s against 30 to 50 without, measured on Valkey 8.0 to 9.1).
	demotionGrace = 3 * time.Second
	// retryFailed is how long a member that died before it ever joined is kept
	// as evidence before another one is tried.
	retryFailed = 30 * time.Second
	// offsetSlack is how many bytes a replica may lag and still be in sync: the
	// offsets of two processes are never read at the same instant.
	offsetSlack = 1 << 20
)

// A member is a Member with what the world knows about it.
type member struct {
	Member

	// live means that the process answers under its recorded identity.
	live bool
	// dead means that the member's process is known not to come back.
	dead bool
	// lost means that the host of the member does not report, and that nobody
	// hears of the member either. It may come back.
	lost bool
	// changed means that a process with another identity answers in its place.
	changed bool
	// keep means that the member belongs to the goal.
	keep bool
	// marked means that the member was marked as Leaving in this plan.
	marked bool
	// orphan means that the member follows a primary that is gone in a shard that
	// has no slots, so that it can neither be promoted nor made a primary.
	orphan bool
	// joined means that the member is part of the cluster: the core and the
	// member know each other.
	joined bool
	// ranges are the slots of a live member, worked out once.
	ranges []SlotRange
}

func (m *member) slots() int {
	if !m.live {
		return 0
	}
	return m.Process.Slots.Len()
}

// holds tells whether the member is a live primary with slots.
func (m *member) holds() bool { return m.live && m.Process.Primary && m.slots() > 0 }

// empty tells whether nothing is lost when the member is made a replica.
func (m *member) empty() bool { return m.live && m.slots() == 0 && m.Process.Keys == 0 }

// silent means that the member's process does not answer but may come back.
func (m *member) silent() bool { return m.Process == nil && !m.dead && m.ID != "" }

// lingers means that Kubernetes holds the member for dead, but its process still
// answers, as it does for a while after a pod was deleted by force.
func (m *member) lingers() bool { return m.dead && m.Process != nil && m.Process.ID == m.ID }

// knows tells whether the member's process has a settled view of another one.
func (m *member) knows(o *member) bool {
	p, ok := m.Process.Peers[o.ID]
	return ok && !p.Handshake
}

// A shard is one shard of the cluster, wanted or not.
type shard struct {
	index   int
	members []*member
	// primary holds the shard's slots or, in a shard without slots, will.
	primary *member
	// holder is the node id that holds the shard's slots although it is not
	// live. It is empty when the shard has a primary with slots or no slots.
	holder string
	// leftover is the node id of a former holder that slots are still attributed
	// to although the shard has a primary with slots again.
	leftover string
	// rolling means that the outdated members of the shard are being replaced.
	rolling bool
	// hollow means that nobody in the shard has slots.
	hollow bool
	// failing means that a failover was ordered in this plan.
	failing bool
	// heir is the member that the failover promotes.
	heir *member
	// busy means that slots are moving from or to the shard.
	busy bool
}

func (s *shard) live() []*member {
	return filter(s.members, func(m *member) bool { return m.live })
}

// replicas returns the live members that follow the shard's primary in sync.
func (s *shard) replicas() []*member {
	return filter(s.members, func(m *member) bool { return s.primary != nil && inSync(m, s.primary) })
}

// inSync tells whether a replica holds all that its primary acknowledged, but
// for what is on the wire.
func inSync(r, p *member) bool {
	if r == p || !r.live || !p.live || r.Process.Primary {
		return false
	}
	q := r.Process
	return q.PrimaryID == p.ID && q.LinkUp && !q.Syncing && p.Process.Offset-q.Offset <= offsetSlack
}

// A world is a snapshot with everything derived from it.
type world struct {
	goal    Goal
	members []*member
	byID    map[string]*member
	live    []*member
	shards  []*shard
	// owned are the slots that live members claim for themselves.
	owned SlotSet
	// stale are slots that live members attribute to somebody who is not live.
	stale map[string]*SlotSet
	// unassigned are the slots that nobody has.
	unassigned SlotSet
	// core is the member that newcomers are introduced to.
	core *member
	// forming means that the cluster has never been formed.
	forming bool
	// chosen means that this plan makes the first assignment of all slots.
	chosen bool

	// swap is the failover that would spread the primaries better.
	swap *move

	plan *Plan
}

func newWorld(g Goal, s Snapshot) *world {
	w := &world{goal: g, byID: map[string]*member{}, stale: map[string]*SlotSet{}, plan: &Plan{}}
	for _, m := range s.Members {
		w.members = append(w.members, assess(m))
	}
	slices.SortFunc(w.members, func(a, b *member) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range w.members {
		if m.ID != "" {
			w.byID[m.ID] = m
		}
		if m.live {
			w.live = append(w.live, m)
		}
	}
	for _, m := range w.members {
		m.lost = w.isLost(m)
	}
	w.claims()
	w.group()
	w.forming = w.isForming()
	w.markBusy()
	w.chooseRolling()
	w.markKept()
	w.choosePrimaries()
	w.findOrphans()
	w.chooseCore()
	return w
}

// assess judges one member on its own.
func assess(m Member) *member {
	out := &member{Member: m}
	// A process with another identity than the recorded one lost its state: it
	// must never be used again, a process that comes back empty would wipe its
	// replicas.
	out.changed = m.Process != nil && m.ID != "" && m.Process.ID != m.ID
	out.dead = m.Pod == PodDead || out.changed || doomed(m)
	out.live = !out.dead && !m.Retired && m.Process != nil && m.ID != ""
	if out.live {
		out.ranges = m.Process.Slots.Ranges()
	}
	return out
}

// doomed tells whether a member is on a host that does not report, and its pod is
// being deleted: should the host come back, it ends the process at once.
func doomed(m Member) bool { return m.HostLost && m.PodDeleting && m.Process == nil }

// isLost tells whether two independent signs say that a member will not serve
// again soon: its host does not report to Kubernetes, and no member that lives
// hears of it. That is enough to replace it, but not to take its slots away.
func (w *world) isLost(m *member) bool {
	if !m.HostLost || m.dead || m.Process != nil || len(w.live) == 0 {
		return false
	}
	return !slices.ContainsFunc(w.live, func(o *member) bool {
		p, ok := o.Process.Peers[m.ID]
		return ok && p.usable()
	})
}

// claims works out who has which slot.
func (w *world) claims() {
	for _, m := range w.live {
		if m.Process.Primary {
			w.owned.Union(&m.Process.Slots)
		}
	}
	all := w.owned
	attribute := func(id string, s SlotSet) {
		s.Subtract(&w.owned)
		if s.Len() == 0 {
			return
		}
		if w.stale[id] == nil {
			w.stale[id] = &SlotSet{}
		}
		w.stale[id].Union(&s)
		all.Union(&s)
	}
	for _, m := range w.members {
		if m.lingers() && m.Process.Primary {
			attribute(m.ID, m.Process.Slots)
		}
	}
	for _, m := range w.live {
		for id, p := range m.Process.Peers {
			if o := w.byID[id]; len(p.Slots) == 0 || (o != nil && o.live) {
				continue
			}
			attribute(id, NewSlotSet(p.Slots...))
		}
	}
	w.unassigned = NewSlotSet(SlotRange{0, SlotCount - 1})
	w.unassigned.Subtract(&all)
}

// group sorts members into shards, wanted shards first.
func (w *world) group() {
	byIndex := map[int]*shard{}
	add := func(i int) *shard {
		if byIndex[i] == nil {
			byIndex[i] = &shard{index: i}
			w.shards = append(w.shards, byIndex[i])
		}
		return byIndex[i]
	}
	for i := range w.goal.Shards {
		add(i)
	}
	for _, m := range w.members {
		s := add(m.Shard)
		s.members = append(s.members, m)
		if w.stale[m.ID] != nil {
			s.holder = m.ID
		}
		if m.live && !m.Process.Primary && w.stale[m.Process.PrimaryID] != nil {
			// Its primary may be no member any more.
			s.holder = m.Process.PrimaryID
		}
	}
	slices.SortFunc(w.shards, func(a, b *shard) int { return cmp.Compare(a.index, b.index) })
}

// surplus tells whether a shard is to go.
func (w *world) surplus(s *shard) bool { return s.index >= w.goal.Shards }

// isForming tells whether no member was ever a settled one.
func (w *world) isForming() bool {
	for _, m := range w.members {
		if m.Phase != PhaseJoining {
			return false
		}
	}
	return true
}

func (w *world) shardOf(id string) *shard {
	m := w.byID[id]
	if m == nil {
		return nil
	}
	for _, s := range w.shards {
		if s.index == m.Shard {
			return s
		}
	}
	return nil
}

// markBusy finds the shards that slots move from or to.
func (w *world) markBusy() {
	mark := func(id string) {
		if s := w.shardOf(id); s != nil {
			s.busy = true
		}
	}
	for _, m := range w.live {
		for _, j := range m.Process.Jobs {
			if j.Active {
				mark(j.SourceID)
				mark(j.TargetID)
			}
		}
		for _, o := range m.Process.Open {
			mark(m.ID)
			mark(o.PeerID)
		}
	}
}

// chooseRolling picks the shards whose outdated members are replaced now: those
// already in motion first, and at most a tenth of all.
func (w *world) chooseRolling() {
	for _, s := range w.shards {
		s.hollow = slotsOf(s) == 0 && s.holder == ""
	}
	outdated := filter(w.shards, func(s *shard) bool {
		return !w.surplus(s) && !s.hollow && slices.ContainsFunc(s.members, func(m *member) bool { return m.Outdated != "" && !m.Retired })
	})
	// A roll has begun where there are more members than wanted, or unsettled ones.
	moving := func(s *shard) bool {
		return len(filter(s.members, func(m *member) bool { return !m.Retired && !m.dead })) > w.goal.Replicas+1 ||
			slices.ContainsFunc(s.members, func(m *member) bool { return m.Phase != PhaseActive })
	}
	slices.SortStableFunc(outdated, func(a, b *shard) int {
		switch {
		case moving(a) == moving(b):
			return cmp.Compare(a.index, b.index)
		case moving(a):
			return -1
		}
		return 1
	})
	budget := max(1, w.goal.Shards/10)
	for _, s := range outdated {
		if w.forming || budget == 0 {
			return
		}
		// Slots go before rolls: a shard is only started when no slots wait.
		if !moving(s) && (s.busy || w.slotsWait()) {
			continue
		}
		s.rolling = true
		budget--
	}
}

func (w *world) markKept() {
	for _, s := range w.shards {
		for _, m := range s.members {
			m.keep = !w.surplus(s) && !m.Deleting && !m.Retired && !m.PodDeleting && !m.lost && m.Phase != PhaseLeaving &&
				(m.Outdated == "" || (!s.rolling && !neverRan(m)))
		}
	}
}

// neverRan tells whether a member has not even started: when its template
// changes it is replaced at once, since what is wrong with it may be mended.
func neverRan(m *member) bool { return m.ID == "" && m.Process == nil && m.Pod != PodRunning }

// choosePrimaries finds the primary of every shard.
func (w *world) choosePrimaries() {
	for _, s := range w.shards {
		s.primary = best(s.live(), func(m *member) int {
			if !m.holds() {
				return -1
			}
			return m.slots()
		})
		if s.primary != nil {
			if s.holder != "" && !w.followed(s.holder) {
				s.leftover, s.holder = s.holder, ""
			}
		}
	}
	c := w.crowd()
	var open []*shard
	for _, s := range w.shards {
		if s.primary != nil || s.holder != "" {
			continue
		}
		s.primary = best(s.live(), func(m *member) int {
			if s.claim(m) < 0 {
				return -1
			}
			return s.claim(m) + c.room(m)
		})
		if s.primary != nil {
			c.add(s.primary)
			open = append(open, s)
		}
	}
	c.settle(open)
}

// claim rates a member as primary of a shard without slots: the one that others
// follow already comes first. It is negative for one that cannot be it.
func (s *shard) claim(m *member) int {
	if !m.live || !m.Process.Primary {
		return -1
	}
	out := 0
	for _, o := range s.live() {
		if !o.Process.Primary && o.Process.PrimaryID == m.ID {
			out += 10_000_000
		}
	}
	if m.keep {
		out += 1_000_000_000
	}
	return out
}

// findOrphans finds a member in each shard without slots in which only replicas
// of a primary that is gone are left. A fresh member takes its place and leads.
func (w *world) findOrphans() {
	for _, s := range w.wanted() {
		if !s.hollow || s.primary != nil || slices.ContainsFunc(s.members, func(m *member) bool { return m.keep && !m.live && !m.dead }) {
			continue
		}
		for _, m := range s.live() {
			if p := w.byID[m.Process.PrimaryID]; p == nil || p.dead {
				m.keep, m.orphan = false, true
				break
			}
		}
	}
}

// chooseCore picks the member with most slots as the heart of the cluster.
func (w *world) chooseCore() {
	w.core = best(w.live, func(m *member) int { return m.slots()*1000 + len(m.Process.Peers) })
	for _, m := range w.live {
		m.joined = m == w.core || (w.core.knows(m) && m.knows(w.core))
	}
}

// quorum tells whether a majority of the primaries that own slots are live.
func (w *world) quorum() bool {
	alive := 0
	for _, m := range w.live {
		if m.holds() {
			alive++
		}
	}
	return alive > len(w.stale)
}

// hasView tells whether a member is part of the cluster, so that its view counts. A
// newcomer that neither follows nor holds anything has yet to hear of the others: it
// has no vote, and waiting for it would take the time of a pod that is about to stop.
func (m *member) hasView() bool {
	return m.joined && (m.Phase != PhaseJoining || !m.Process.Primary || m.slots() > 0)
}

// agreeOnReplica tells whether all members that are part of the cluster see a
// member as a settled replica of a primary.
func (w *world) agreeOnReplica(r, p *member) bool {
	for _, m := range w.live {
		if m == r || !m.hasView() {
			continue
		}
		v, ok := m.Process.Peers[r.ID]
		if !ok || !v.usable() || v.Primary || v.PrimaryID != p.ID {
			return false
		}
	}
	return true
}

// agreeOnPrimary tells whether all members that are part of the cluster see a member as the primary of
// exactly the slots that it claims.
func (w *world) agreeOnPrimary(p *member) bool {
	for _, m := range w.live {
		if m == p || !m.hasView() {
			continue
		}
		v, ok := m.Process.Peers[p.ID]
		if !ok || !v.usable() || !v.Primary || !sameSlots(v.Slots, p) {
			return false
		}
	}
	return true
}

func sameSlots(rs []SlotRange, m *member) bool {
	if slices.Equal(rs, m.ranges) {
		return true
	}
	// A view may list the same slots as other ranges.
	return NewSlotSet(rs...) == m.Process.Slots
}

func (w *world) do(as ...Action) { w.plan.Actions = append(w.plan.Actions, as...) }

func filter[T any](xs []T, ok func(T) bool) []T {
	var out []T
	for _, x := range xs {
		if ok(x) {
			out = append(out, x)
		}
	}
	return out
}

// best returns the element with the highest score, the first of equals, and nil
// if no score is at least 0.
func best(ms []*member, score func(*member) int) *member {
	var out *member
	top := -1
	for _, m := range ms {
		if n := score(m); n > top {
			out, top = m, n
		}
	}
	return out
}
