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

// handOver promotes a replica in shards whose primary has to go. At most one
// failover per shard is ordered, and only onto a member that stays.
func (w *world) handOver() {
	for _, s := range w.shards {
		p := s.primary
		if p == nil || p.keep || !p.holds() || s.holder != "" {
			continue
		}
		// A pod that is about to stop does not wait for anything else.
		if (s.busy || w.surplus(s)) && !p.PodDeleting {
			continue
		}
		ready := w.heirs(s)
		if len(ready) == 0 {
			continue
		}
		if !w.agreeOnPrimary(p) || !w.othersServe(s) {
			continue
		}
		// It is not marked as Leaving yet: should the goal be taken back before
		// the failover, a healthy primary is left alone.
		r := w.successor(ready)
		s.failing, s.heir = true, r
		w.do(Failover{Node: r.Name, Mode: FailoverDefault, Shard: s.index, Old: p.Name, Why: w.whyLeave(p)})
	}
}

// heirs returns the members that may take over from the shard's primary. If its
// pod is about to stop anyway, any one in sync is better than none.
func (w *world) heirs(s *shard) []*member {
	ready := w.ready(s)
	if len(ready) >= w.goal.Replicas+1 {
		return ready
	}
	if !s.primary.PodDeleting {
		return nil
	}
	if len(ready) > 0 {
		return ready
	}
	return filter(w.synced(s), func(m *member) bool { return m.Process.ClusterOK && !m.PodDeleting })
}

// othersServe tells whether enough other primaries are live to grant a vote.
func (w *world) othersServe(s *shard) bool {
	return w.quorum() && s.primary.live
}

// successor picks the member in the place with the fewest primaries. Those that
// will be replaced themselves do not count: where their successors will be is not
// known yet.
func (w *world) successor(ready []*member) *member { return best(ready, w.crowd().room) }

func (w *world) whyLeave(m *member) string {
	switch {
	case m.PodDeleting:
		return fmt.Sprintf("the pod of %s is being deleted", m.Name)
	case m.Deleting:
		return fmt.Sprintf("%s is being replaced on request", m.Name)
	case m.Outdated != "":
		return fmt.Sprintf("%s is outdated: %s", m.Name, m.Outdated)
	}
	return fmt.Sprintf("%s is no longer needed", m.Name)
}

// retire releases the members that are not needed any more.
func (w *world) retire() {
	for _, s := range w.shards {
		for _, m := range s.members {
			if m.Retired || m.keep && !m.dead {
				continue
			}
			w.retireOne(s, m)
		}
	}
}

func (w *world) retireOne(s *shard, m *member) {
	switch {
	case m.marked || (w.onHold(m) && m.keep):
		return
	case m.dead:
		// Its record is the only link between its slots and its shard.
		if w.stale[m.ID] == nil && !m.lingers() && !w.blind() {
			w.do(Retire{Node: m.Name, Why: "it is dead"})
		}
	case !m.live:
		w.retireSilent(s, m)
	case m.orphan && !w.blind():
		w.do(Retire{Node: m.Name, Why: "its primary is gone and it has no data"})
	case w.stranger(m):
		w.do(Retire{Node: m.Name, Why: "it is not needed and never joined"})
	case s.hollow && !w.surplus(s) && m == s.primary && m.empty() && !w.blind() && !w.attributed(m):
		// There is nothing to hand over, and its replicas cannot lead.
		w.do(Retire{Node: m.Name, Why: w.whyLeave(m)})
	case m.slots() > 0 || (m == s.primary && !w.surplus(s)):
		return
	case !w.mayStop(s, m):
		return
	case m.Phase != PhaseLeaving && !m.Deleting:
		w.do(SetPhase{Node: m.Name, Phase: PhaseLeaving})
	default:
		w.do(Retire{Node: m.Name, Why: w.whyLeave(m)})
	}
}

// stranger tells whether a live member is empty and unknown to the cluster.
func (w *world) stranger(m *member) bool {
	return w.core != nil && m != w.core && m.empty() && len(m.Process.Peers) == 0 && !w.knownToAnyone(m)
}

func (w *world) knownToAnyone(m *member) bool {
	return slices.ContainsFunc(w.live, func(o *member) bool {
		_, ok := o.Process.Peers[m.ID]
		return ok || shakes(o, m)
	})
}

// retireSilent releases a member that does not answer. One that joined may come
// back and may hold a copy, so that it only goes where enough others are left.
func (w *world) retireSilent(s *shard, m *member) {
	if m.ID != "" && w.stale[m.ID] != nil {
		return
	}
	if m.ID == "" || (m.Phase == PhaseJoining && !w.knownToAnyone(m) && !w.blind()) {
		w.do(Retire{Node: m.Name, Why: "it is not needed and never joined"})
		return
	}
	if m.Phase != PhaseLeaving && !m.Deleting && !m.lost {
		return
	}
	if !w.mayStop(s, m) {
		return
	}
	why := "it is not needed and does not answer"
	if m.lost {
		why = whyLost(m)
	}
	w.do(Retire{Node: m.Name, Why: why})
}

// blind tells whether members that do not answer may know who owns slots of which
// those that do answer know nothing.
func (w *world) blind() bool {
	return w.unassigned.Len() > 0 && slices.ContainsFunc(w.members, (*member).silent)
}

// mayStop tells whether a live member without slots can stop without taking a
// wanted copy of the data or a client's connection to a primary with it.
func (w *world) mayStop(s *shard, m *member) bool {
	if m.RoleAge < demotionGrace || s.busy || w.attributed(m) {
		return false
	}
	if w.surplus(s) {
		return !w.blind() && s.holder == "" && (s.primary == nil || s.primary.slots() == 0)
	}
	p := s.primary
	if p == nil || !p.keep || !p.holds() || !w.agreeOnPrimary(p) {
		return false
	}
	return len(w.ready(s)) >= w.goal.Replicas+1
}

// attributed tells whether anybody still sends clients to a member.
func (w *world) attributed(m *member) bool {
	return slices.ContainsFunc(w.live, func(o *member) bool { return o.joined && len(o.Process.Peers[m.ID].Slots) > 0 })
}
