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
	"strings"
)

// settled tells whether every wanted shard has its primary with its replicas in
// sync, all slots are assigned, and every view is the same.
func (w *world) settled() bool {
	if len(w.stale) > 0 || w.unassigned.Len() > 0 {
		return false
	}
	for _, s := range w.wanted() {
		p := s.primary
		if p == nil || p.slots() == 0 || !w.agreeOnPrimary(p) {
			return false
		}
		if len(w.synced(s)) < w.goal.Replicas {
			return false
		}
	}
	for _, m := range w.live {
		if m.keep && (!m.joined || !m.Process.ClusterOK) {
			return false
		}
	}
	return true
}

// synced returns the replicas of a shard that are in sync and that all agree on.
func (w *world) synced(s *shard) []*member {
	return filter(s.replicas(), func(m *member) bool { return w.agreeOnReplica(m, s.primary) })
}

// active tells whether everything holds that the state Active promises.
func (w *world) active() bool {
	if !w.settled() {
		return false
	}
	return !slices.ContainsFunc(w.live, func(m *member) bool {
		return m.Process.NodeTimeout != w.goal.NodeTimeout || m.Process.SyncDelay != w.goal.SyncDelay
	})
}

// serving tells whether live, healthy primaries hold all slots.
func (w *world) serving() bool {
	if w.owned.Len() < SlotCount {
		return false
	}
	return !slices.ContainsFunc(w.live, func(m *member) bool { return m.holds() && !m.Process.ClusterOK })
}

// summarise says what the plan is about.
func (w *world) summarise() {
	p := w.plan
	p.Formed = w.owned.Len() > 0
	p.Serving = w.serving()
	p.Active = w.active()
	p.SlotsToMove, _ = w.toMove()
	p.Reason, p.Message = w.explain()
	p.Converged = p.Reason == ReasonConverged
}

// Reasons of a plan, for conditions and events.
const (
	ReasonConverged = "Converged"
	ReasonStarting  = "StartingMembers"
	ReasonForming   = "FormingCluster"
	ReasonHealing   = "Healing"
	ReasonJoining   = "JoiningMembers"
	ReasonMoving    = "MovingSlots"
	ReasonRolling   = "ReplacingMembers"
	ReasonLeaving   = "RetiringMembers"
	ReasonBalancing = "BalancingPrimaries"
	ReasonBlocked   = "Blocked"
)

// explain returns the first of the things that are not as they should be.
func (w *world) explain() (reason, message string) {
	checks := []func() (string, string){
		w.explainProblems, w.explainLost, w.explainStarting, w.explainForming,
		w.explainMoving, w.explainRolling, w.explainJoining, w.explainLeaving, w.explainBalance, w.explainTidying,
	}
	for _, c := range checks {
		if r, m := c(); r != "" {
			return r, m
		}
	}
	return ReasonConverged, fmt.Sprintf("%d shards with %d replicas each serve all %d slots", w.goal.Shards, w.goal.Replicas, SlotCount)
}

func (w *world) explainProblems() (reason, message string) {
	if len(w.plan.Problems) == 0 {
		return "", ""
	}
	return ReasonBlocked, w.plan.Problems[0]
}

func (w *world) explainLost() (reason, message string) {
	for _, s := range w.shards {
		if s.holder == "" {
			continue
		}
		m := w.byID[s.holder]
		if m == nil {
			return ReasonHealing, fmt.Sprintf("shard %d lost its primary", s.index)
		}
		if m.dead {
			return ReasonHealing, fmt.Sprintf("shard %d lost its primary %s%s", s.index, m.Name, detail(m))
		}
		return ReasonHealing, fmt.Sprintf("primary %s of shard %d does not answer; waiting for it or for Valkey's own failover", m.Name, s.index)
	}
	return "", ""
}

func (w *world) explainStarting() (reason, message string) {
	want := w.goal.Shards * (w.goal.Replicas + 1)
	kept := filter(w.members, func(m *member) bool { return m.keep })
	var waits *member
	up := 0
	for _, m := range kept {
		if m.live {
			up++
			continue
		}
		if waits == nil || (waits.PodMessage == "" && m.PodMessage != "") {
			waits = m
		}
	}
	if waits != nil {
		return ReasonStarting, fmt.Sprintf("%d of %d members run; waiting for %s%s%s", up, max(want, len(kept)), waits.Name, detail(waits), w.replaces(waits))
	}
	if len(kept) < want {
		return ReasonStarting, fmt.Sprintf("%d of %d members run", up, want)
	}
	return "", ""
}

// replaces says whose place a member is to take in a roll, and why.
func (w *world) replaces(m *member) string {
	for _, s := range w.shards {
		if s.index != m.Shard || !s.rolling {
			continue
		}
		for _, o := range s.members {
			if o != m && o.Outdated != "" && !o.Retired {
				return fmt.Sprintf("; it is to replace %s: %s", o.Name, o.Outdated)
			}
		}
	}
	return ""
}

func detail(m *member) string {
	if m.PodMessage == "" {
		return ""
	}
	return ": " + m.PodMessage
}

func (w *world) explainForming() (reason, message string) {
	if n := SlotCount - w.owned.Len(); n > 0 {
		return ReasonForming, fmt.Sprintf("%d of %d slots are assigned", w.owned.Len(), SlotCount)
	}
	return "", ""
}

// toMove counts the slots that have to move to another shard, and estimates the
// keys in them.
func (w *world) toMove() (slots int, keys int64) {
	if !w.slotsWait() {
		return 0, 0
	}
	q := w.quotas()
	for _, s := range w.shards {
		d := slotsOf(s) - q[s]
		if d <= 0 {
			continue
		}
		slots += d
		if s.primary != nil && s.primary.live {
			keys += perSlot(s.primary) * int64(d)
		}
	}
	return slots, keys
}

func (w *world) explainMoving() (reason, message string) {
	n, keys := w.toMove()
	if n == 0 {
		return "", ""
	}
	msg := []string{fmt.Sprintf("%d slots with about %d keys have to move", n, keys)}
	for _, m := range w.live {
		if len(m.Process.Jobs) > 0 && m.Process.Jobs[0].Failed && m.Process.Jobs[0].Export {
			msg = append(msg, fmt.Sprintf("the last migration from %s failed: %s%s", m.Name, m.Process.Jobs[0].Message, w.otherEnd(m)))
		}
	}
	return ReasonMoving, strings.Join(msg, "; ")
}

// otherEnd returns what the target of a member's last migration says of it: a source
// often knows no more than that the connection was lost.
func (w *world) otherEnd(m *member) string {
	job := m.Process.Jobs[0]
	target := w.byID[job.TargetID]
	if target == nil || !target.live {
		return ""
	}
	for _, j := range target.Process.Jobs {
		if !j.Export && j.SourceID == m.ID && j.Failed && j.Message != "" && slices.Equal(j.Ranges, job.Ranges) {
			return fmt.Sprintf(" (%s says: %s)", target.Name, j.Message)
		}
	}
	return ""
}

func (w *world) explainRolling() (reason, message string) {
	n, total := 0, 0
	why := ""
	for _, m := range w.members {
		if m.Retired {
			continue
		}
		total++
		if m.Outdated == "" {
			continue
		}
		n++
		why = m.Outdated
	}
	if n == 0 {
		return "", ""
	}
	return ReasonRolling, fmt.Sprintf("%d of %d members have to be replaced: %s", n, total, why)
}

func (w *world) explainJoining() (reason, message string) {
	for _, s := range w.wanted() {
		if s.primary == nil {
			return ReasonJoining, fmt.Sprintf("shard %d has no primary yet", s.index)
		}
		if n := len(w.synced(s)); n < w.goal.Replicas {
			return ReasonJoining, fmt.Sprintf("%d of %d replicas of shard %d are in sync", n, w.goal.Replicas, s.index)
		}
	}
	if !w.settled() {
		return ReasonJoining, "members do not have the same view of the cluster yet"
	}
	return "", ""
}

func (w *world) explainLeaving() (reason, message string) {
	for _, m := range w.members {
		if m.lost {
			return ReasonLeaving, whyLost(m)
		}
		if !m.keep || m.dead {
			return ReasonLeaving, fmt.Sprintf("member %s leaves", m.Name)
		}
	}
	return "", ""
}

// explainTidying names what is left when the cluster itself is as it should be.
func (w *world) explainTidying() (reason, message string) {
	if len(w.plan.Actions) > 0 {
		return ReasonJoining, w.plan.Actions[0].String()
	}
	if !w.active() {
		return ReasonJoining, "members do not have their normal timers yet"
	}
	if ids := w.ghosts(); len(ids) > 0 {
		// It may be one that was retired or one of another cluster.
		return ReasonLeaving, fmt.Sprintf("node %s, one of %d that members know, is not a member of this cluster; it is forgotten once it has stopped", ids[0], len(ids))
	}
	return "", ""
}
