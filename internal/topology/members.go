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
)

// createMembers makes the members that are missing, all at once.
func (w *world) createMembers() {
	for _, s := range w.wanted() {
		have := 0
		for _, m := range s.members {
			if m.keep && (!m.dead || w.onHold(m)) {
				have++
			}
		}
		k := 0
		for range w.goal.Replicas + 1 - have {
			var name string
			name, k = w.freeName(s.index, k)
			w.do(CreateNode{Name: name, Shard: s.index, Why: w.whyCreate(s)})
		}
	}
}

// onHold tells whether a member died before it ever joined, and so lately that
// another try would only be the same again.
func (w *world) onHold(m *member) bool {
	return m.dead && m.Phase == PhaseJoining && !m.Deleting && !m.Retired && m.PodAge < retryFailed
}

func (w *world) freeName(shard, k int) (string, int) {
	for ; ; k++ {
		name := w.goal.NewName(shard, k)
		if !slices.ContainsFunc(w.members, func(m *member) bool { return m.Name == name }) {
			return name, k + 1
		}
	}
}

func (w *world) whyCreate(s *shard) string {
	for _, m := range s.members {
		if s.rolling && m.Outdated != "" {
			return fmt.Sprintf("%s is outdated: %s", m.Name, m.Outdated)
		}
		if m.dead && !m.Retired {
			return fmt.Sprintf("%s is dead", m.Name)
		}
		if m.lost && !m.Retired {
			return whyLost(m)
		}
		if m.Deleting || m.PodDeleting || m.Phase == PhaseLeaving {
			return fmt.Sprintf("%s leaves", m.Name)
		}
	}
	return fmt.Sprintf("the shard needs %d members", w.goal.Replicas+1)
}

func whyLost(m *member) string {
	return fmt.Sprintf("%s is lost: its node %s does not report", m.Name, m.Host)
}

// meet introduces live members to the core of the cluster.
func (w *world) meet() {
	if w.core == nil {
		return
	}
	for _, m := range w.live {
		if m == w.core || m.IP == "" || !w.introduce(m) {
			continue
		}
		w.do(Meet{From: w.core.Name, To: m.Name, ToID: m.ID, ToIP: m.IP})
	}
}

// introduce tells whether a member must be introduced: it is not known, nor is a
// handshake with its address under way.
func (w *world) introduce(m *member) bool {
	if m.joined && !w.core.Process.Peers[m.ID].NoAddr {
		return false
	}
	if !m.keep && len(m.Process.Peers) == 0 && m.slots() == 0 {
		return false
	}
	return !shakes(w.core, m) && !shakes(m, w.core)
}

// shakes tells whether a handshake of a member with another one is under way.
func shakes(m, o *member) bool {
	for _, p := range m.Process.Peers {
		if p.Handshake && p.IP == o.IP {
			return true
		}
	}
	return false
}

// replicate makes members follow the primary of their shard. One whose pod is about
// to stop is not followed any more where another one takes over: who has just met the
// two would not know yet that they are of one shard, and hang.
func (w *world) replicate() {
	for _, s := range w.shards {
		p := s.primary
		if p == nil || s.holder != "" {
			continue
		}
		handsOver := p.PodDeleting && slices.ContainsFunc(s.members, func(m *member) bool { return !m.PodDeleting && inSync(m, p) })
		for _, m := range s.live() {
			if m == p || handsOver || !w.shouldFollow(m, p) {
				continue
			}
			w.do(Replicate{Node: m.Name, Primary: p.Name, PrimaryID: p.ID})
		}
	}
}

func (w *world) shouldFollow(m, p *member) bool {
	v, ok := m.Process.Peers[p.ID]
	if !ok || v.Handshake || v.NoAddr {
		return false
	}
	if !m.Process.Primary {
		// It may hold the last copy of what its lost primary had.
		return m.Process.PrimaryID != p.ID && w.stale[m.Process.PrimaryID] == nil
	}
	if m.slots() > 0 {
		return false
	}
	if m.Process.Keys > 0 && m.Phase != PhaseJoining {
		w.plan.Problems = append(w.plan.Problems, fmt.Sprintf(
			"member %s holds %d keys but no slots; it is not made a replica, which would delete them; delete the member to have it replaced", m.Name, m.Process.Keys))
		return false
	}
	// A primary without slots must not be followed by one that already leads. And
	// who leads is open until all slots are assigned the first time.
	return p.holds() || (p.keep && (!w.forming || w.chosen || w.unassigned.Len() < SlotCount))
}

// chooseSurplus marks members that are more than the goal asks for.
func (w *world) chooseSurplus() {
	for _, s := range w.shards {
		if w.surplus(s) {
			w.leaveDrained(s)
			continue
		}
		kept := filter(s.members, func(m *member) bool { return m.keep && !m.dead })
		extra := len(kept) - (w.goal.Replicas + 1)
		if extra <= 0 || s.primary == nil || !s.primary.holds() || s.holder != "" || s.failing {
			continue
		}
		ready := w.ready(s)
		// A new member may still be on its way to take the place of another.
		if len(ready) < w.goal.Replicas+1 {
			continue
		}
		for range extra {
			m := w.leastUseful(s, kept)
			if m == nil {
				break
			}
			kept = slices.DeleteFunc(kept, func(o *member) bool { return o == m })
			m.keep, m.marked = false, true
			w.do(SetPhase{Node: m.Name, Phase: PhaseLeaving})
		}
	}
}

// leastUseful picks the replica that is missed least: outdated ones, then those
// that are not in sync, then those that share a host or zone with others.
func (w *world) leastUseful(s *shard, kept []*member) *member {
	return best(kept, func(m *member) int {
		if m == s.primary {
			return -1
		}
		n := 0
		if m.Outdated != "" {
			n += 10000
		}
		if !inSync(m, s.primary) {
			n += 1000
		}
		for _, o := range kept {
			if o != m && o.Zone == m.Zone {
				n += 10
			}
			if o != m && o.Host == m.Host {
				n++
			}
		}
		return n
	})
}

// leaveDrained marks the members of a shard that has no slots left.
func (w *world) leaveDrained(s *shard) {
	if s.busy || w.blind() || s.holder != "" || (s.primary != nil && s.primary.slots() > 0) {
		return
	}
	for _, m := range s.members {
		if m.Phase != PhaseLeaving && !m.Retired && !m.Deleting {
			m.marked = true
			w.do(SetPhase{Node: m.Name, Phase: PhaseLeaving})
		}
	}
}

// ready returns the kept members of a shard that hold all of its data.
func (w *world) ready(s *shard) []*member {
	return filter(s.members, func(m *member) bool {
		if !m.keep || !m.live {
			return false
		}
		return m == s.primary || (inSync(m, s.primary) && m.Process.ClusterOK && w.agreeOnReplica(m, s.primary))
	})
}

// recordPhases marks members that are settled parts of their shard as Active.
// While a cluster forms they all become Active together, once it has formed.
func (w *world) recordPhases() {
	if w.forming && !w.active() {
		return
	}
	for _, s := range w.wanted() {
		if s.primary == nil || s.primary.slots() == 0 {
			continue
		}
		for _, m := range w.ready(s) {
			if m.Phase == PhaseJoining {
				w.do(SetPhase{Node: m.Name, Phase: PhaseActive})
			}
		}
	}
}
