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
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

var errAway = errors.New("no answer")

// member returns the member of a name, or nil.
func (s *Sim) member(name string) *member {
	for _, m := range s.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

// server returns the process of a member, if it answers the provider.
func (s *Sim) server(name string) (*node, error) {
	m := s.member(name)
	if m == nil || !s.answersUs(m) {
		return nil, errAway
	}
	if m.node.id != m.id {
		return nil, fmt.Errorf("%s answers as %s", name, m.node.id)
	}
	return m.node, nil
}

// act carries one action out as the controllers do.
func (s *Sim) act(a topology.Action) error {
	switch a := a.(type) {
	case topology.CreateNode:
		s.checkCreate(a)
		s.createMember(a.Name, a.Shard)
		return nil
	case topology.SetPhase:
		if m := s.member(a.Node); m != nil {
			m.phase = a.Phase
		}
		return nil
	case topology.Retire:
		return s.actRetire(a)
	case topology.Meet:
		return s.actMeet(a)
	}
	return s.actServer(a)
}

func (s *Sim) actServer(a topology.Action) error {
	switch a := a.(type) {
	case topology.AddSlots:
		return s.actAddSlots(a)
	case topology.Replicate:
		return s.actReplicate(a)
	case topology.Failover:
		return s.actFailover(a)
	case topology.Forget:
		return s.actForget(a)
	case topology.Tune:
		n, err := s.server(a.Node)
		if err == nil {
			n.timeout, n.delay = a.NodeTimeout, a.SyncDelay
		}
		return err
	case topology.BumpEpoch:
		n, err := s.server(a.Node)
		if err == nil {
			s.takeEpoch(n)
		}
		return err
	case topology.MigrateSlots:
		return s.actMigrate(a)
	case topology.MoveSlots:
		return s.actMove(a)
	case topology.CloseSlot:
		n, err := s.server(a.Node)
		if err == nil {
			delete(n.open, a.Slot)
		}
		return err
	}
	return fmt.Errorf("unknown action %T", a)
}

func (s *Sim) actRetire(a topology.Retire) error {
	m := s.member(a.Node)
	if m == nil || m.retired {
		return nil
	}
	s.checkRetire(m)
	m.deleting = true
	// It takes two writes, and the provider may be killed between them.
	if s.rng.Float64() < s.profile.killed {
		return nil
	}
	m.retired, m.phase = true, topology.PhaseLeaving
	if s.blind() || m.pod == topology.PodDead {
		// What died since the provider looked may make this the last copy.
		s.excuseDead()
	}
	return nil
}

func (s *Sim) actMeet(a topology.Meet) error {
	from, err := s.server(a.From)
	if err != nil {
		return err
	}
	m := s.member(a.To)
	if m == nil || m.id == "" || a.ToID != m.id {
		s.violate("meet of %s, whose recorded id is not %q", a.To, a.ToID)
		return nil
	}
	to, err := s.server(a.To)
	if err != nil {
		return err
	}
	from.shakes = append(from.shakes, handshake{to: to, at: s.now + time.Duration(s.rng.Int64N(int64(time.Second))), until: s.now + from.timeout})
	return nil
}

func (s *Sim) actAddSlots(a topology.AddSlots) error {
	n, err := s.server(a.Node)
	if err != nil {
		return err
	}
	if !n.primary {
		return errors.New("a replica takes no slots")
	}
	for _, r := range a.Ranges {
		for i := r.Start; i <= r.End; i++ {
			if n.table[i] != nobody && !a.Take {
				return fmt.Errorf("slot %d is already busy", i)
			}
		}
	}
	s.checkAddSlots(n, a)
	if a.Bump {
		s.takeEpoch(n)
	}
	if a.Epoch > 0 {
		for _, v := range n.views {
			if v != nil {
				return errors.New("the user can assign a config epoch only when the node does not know any other node")
			}
		}
		if n.epoch > 0 {
			return errors.New("node config epoch is already non-zero")
		}
		n.epoch, n.cur = a.Epoch, max(n.cur, a.Epoch)
	}
	for _, r := range a.Ranges {
		for i := r.Start; i <= r.End; i++ {
			n.table[i] = uint16(n.idx) //nolint:gosec // A simulation has few nodes.
			delete(n.open, i)
		}
	}
	n.changed()
	s.disown(n, a.Ranges)
	return nil
}

func (s *Sim) actReplicate(a topology.Replicate) error {
	n, err := s.server(a.Node)
	if err != nil {
		return err
	}
	p := s.byID[a.PrimaryID]
	v := n.views[p.idx]
	switch {
	case n == p:
		return errors.New("can't replicate myself")
	case v == nil:
		return fmt.Errorf("unknown node %s", a.PrimaryID)
	case !v.primary:
		return errors.New("ERR I can only replicate a master, not a replica")
	case n.primary && (len(n.own()) > 0 || n.keys() > 0):
		return errors.New("to set a master the node must be empty and without assigned slots")
	case !n.primary && n.master == p.idx:
		return nil
	}
	s.follow(n, p)
	return nil
}

func (s *Sim) actFailover(a topology.Failover) error {
	n, err := s.server(a.Node)
	if err != nil {
		return err
	}
	if n.primary {
		return errors.New("you should send CLUSTER FAILOVER to a replica")
	}
	p := s.nodes[n.master]
	if a.Mode != topology.FailoverDefault && a.Old != "" && p.pod.name != a.Old {
		// The controller asks again.
		return errors.New("it follows another primary meanwhile")
	}
	s.checkFailover(n, a)
	if a.Mode == topology.FailoverDefault && (!n.linkUp || n.views[p.idx] == nil || n.views[p.idx].fail) {
		return errors.New("master is down or failed, please use CLUSTER FAILOVER FORCE")
	}
	if n.manual == nil || a.Mode == topology.FailoverTakeover {
		n.manual = &manual{mode: a.Mode, balance: a.Balance, until: s.now + manualTimeout}
	}
	return nil
}

func (s *Sim) actForget(a topology.Forget) error {
	n, err := s.server(a.Node)
	if err != nil {
		return err
	}
	o := s.byID[a.ID]
	if o == nil {
		return fmt.Errorf("unknown node %s", a.ID)
	}
	s.checkForget(n, o)
	if err := s.forget(n, o); err != nil {
		return err
	}
	s.forgetByGossip(n, o)
	return nil
}

func (s *Sim) actMigrate(a topology.MigrateSlots) error {
	src, err := s.server(a.From)
	if err != nil {
		return err
	}
	dst := s.byID[a.ToID]
	if src.id != a.FromID || src.views[dst.idx] == nil {
		return fmt.Errorf("unknown node %s", a.ToID)
	}
	for _, r := range a.Ranges {
		for i := r.Start; i <= r.End; i++ {
			if int(src.table[i]) != src.idx {
				return errors.New("slots are not served by this node")
			}
		}
	}
	for _, j := range src.jobs {
		if j.active && overlap(j.ranges, a.Ranges) {
			return errors.New("ERR I am already migrating these slots")
		}
	}
	j := &job{src: src, dst: dst, ranges: a.Ranges, active: true, updated: s.now}
	j.done = s.now + 200*time.Millisecond + time.Duration(s.rng.Int64N(int64(3*time.Second)))
	src.jobs, dst.jobs = append(src.jobs, j), append(dst.jobs, j)
	return nil
}

func overlap(a, b []topology.SlotRange) bool {
	x, y := topology.NewSlotSet(a...), topology.NewSlotSet(b...)
	return x.Intersects(&y)
}

// tickJobs ends atomic migrations.
func (s *Sim) tickJobs() {
	for _, n := range s.alive {
		for _, j := range n.jobs {
			if !j.active || j.src != n {
				continue
			}
			switch {
			case !j.src.primary || !j.dst.primary || !reach(j.src, j.dst) || j.dst.views[j.src.idx] == nil:
				if s.now-j.updated > time.Second {
					s.endJob(j, "Connection lost to target")
				}
			case s.now >= j.done:
				s.finishJob(j)
			}
		}
	}
}

func (s *Sim) endJob(j *job, why string) {
	if j.active {
		j.active, j.failed, j.message, j.updated = false, true, why, s.now
	}
}

// failJobs ends all jobs of a process that is no primary any more.
func (s *Sim) failJobs(n *node, why string) {
	for _, j := range n.jobs {
		s.endJob(j, why)
	}
	n.jobs = nil
}

func (s *Sim) finishJob(j *job) {
	if s.rng.Float64() < s.profile.jobFails {
		s.endJob(j, "Connection lost to target")
		return
	}
	for _, r := range j.ranges {
		for i := r.Start; i <= r.End; i++ {
			if int(j.src.table[i]) != j.src.idx {
				s.endJob(j, "Slots are not served by this node any more")
				return
			}
		}
	}
	j.active, j.updated = false, s.now
	s.takeEpoch(j.dst)
	s.learnEpoch(j.src, j.dst.idx, j.dst.epoch)
	for k := range keyCount {
		if slices.ContainsFunc(j.ranges, func(r topology.SlotRange) bool { return r.Start <= keySlot(k) && keySlot(k) <= r.End }) {
			j.dst.data[k], j.src.data[k] = j.src.data[k], 0
		}
	}
	for _, r := range j.ranges {
		for i := r.Start; i <= r.End; i++ {
			j.dst.table[i], j.src.table[i] = uint16(j.dst.idx), uint16(j.dst.idx) //nolint:gosec // A simulation has few nodes.
		}
	}
	j.dst.changed()
	j.src.changed()
	j.dst.offset += 1000
	j.src.offset += 1000
	s.syncReplicas(j.dst)
	s.broadcast(j.dst)
}

// syncReplicas brings the replicas of a target up to date: an atomic migration
// only ends once they have what was moved.
func (s *Sim) syncReplicas(p *node) {
	for _, r := range s.alive {
		if !r.primary && r.master == p.idx && r.linkUp && reach(r, p) {
			s.copyData(r, p)
		}
	}
}

// takeEpoch gives a node the greatest config epoch.
func (s *Sim) takeEpoch(n *node) {
	top := n.cur
	for _, v := range n.views {
		if v != nil {
			top = max(top, v.epoch)
		}
	}
	n.cur = top + 1
	n.epoch = n.cur
	n.tver++
	// Real servers race here: a primary that is cut off before anybody heard of
	// its epoch may win against its own successor. That is not for us to solve.
	for _, o := range s.alive {
		if o != n && reach(n, o) {
			o.cur = max(o.cur, n.cur)
		}
	}
}

// actMove moves slots the classic way and may be interrupted in the middle.
func (s *Sim) actMove(a topology.MoveSlots) error {
	src, err := s.server(a.From)
	if err != nil {
		return err
	}
	dst, err := s.server(a.To)
	if err != nil {
		return err
	}
	cut := len(a.Slots)
	if s.rng.Float64() < s.profile.interrupts {
		cut = s.cut(src, a.Slots)
	}
	bumped := false
	for i, slot := range a.Slots {
		stages := 6
		switch {
		case i >= cut+3:
			return errors.New("interrupted")
		case i >= cut:
			stages = s.rng.IntN(6)
		}
		if err := s.moveSlot(src, dst, slot, stages, &bumped); err != nil {
			return err
		}
	}
	return nil
}

// cut picks where a move is interrupted, rather at a slot that has keys.
func (s *Sim) cut(src *node, slots []int) int {
	for k := range keyCount {
		if i := slices.Index(slots, keySlot(k)); i >= 0 && src.data[k] > 0 && s.rng.Float64() < 0.5 {
			return i
		}
	}
	return s.rng.IntN(len(slots))
}

func (s *Sim) moveSlot(src, dst *node, slot, stages int, bumped *bool) error {
	if !src.primary || !dst.primary || !reach(src, dst) || src.views[dst.idx] == nil || dst.views[src.idx] == nil {
		return errors.New("IOERR error or timeout writing to target instance")
	}
	if int(src.table[slot]) != src.idx {
		return errors.New("ERR I'm not the owner of hash slot")
	}
	if stages > 0 && int(dst.table[slot]) != dst.idx {
		dst.open[slot] = open{peer: src.idx}
	}
	if stages > 1 {
		src.open[slot] = open{migrating: true, peer: dst.idx}
	}
	if stages > 2 && int(dst.table[slot]) != dst.idx {
		s.moveKeys(src, dst, slot)
	}
	if stages > 3 {
		if !*bumped {
			s.takeEpoch(dst)
			s.learnEpoch(src, dst.idx, dst.epoch)
			*bumped = true
		}
		delete(dst.open, slot)
		dst.set(slot, dst.idx)
		// Since 8.0 SETSLOT is replicated.
		for _, r := range s.alive {
			if !r.primary && r.master == dst.idx && r.linkUp && reach(r, dst) {
				r.set(slot, dst.idx)
			}
		}
	}
	if stages > 4 {
		delete(src.open, slot)
		src.set(slot, dst.idx)
	}
	if stages > 5 {
		s.tellOwner(src, dst, slot)
	}
	return nil
}

// tellOwner sends SETSLOT NODE to all other primaries.
func (s *Sim) tellOwner(src, dst *node, slot int) {
	for _, o := range s.alive {
		if o != src && o != dst && o.primary && s.answersUs(o.pod) && o.views[dst.idx] != nil {
			o.set(slot, dst.idx)
		}
	}
}

func (s *Sim) moveKeys(src, dst *node, slot int) {
	for k := range keyCount {
		if keySlot(k) == slot && src.data[k] > 0 {
			dst.data[k], src.data[k] = src.data[k], 0
			dst.offset += 100
			src.offset += 100
			// MIGRATE deletes at the source; replicas of both follow.
			s.syncReplicas(dst)
		}
	}
}
