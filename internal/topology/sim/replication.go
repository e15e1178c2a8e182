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
	"maps"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// follow makes a node a replica of another one.
func (s *Sim) follow(r, p *node) {
	if r.primary {
		r.roleAt = s.now
	}
	r.primary, r.master, r.shard = false, p.idx, p.shard
	r.linkUp, r.syncing = false, false
	r.linkSince, r.electAt, r.manual = s.now, 0, nil
	r.heard = s.now
	s.failJobs(r, "Connection lost to source")
	r.tver++
}

// promote makes a replica the primary of its primary's slots.
func (s *Sim) promote(r *node) {
	old := r.master
	for _, rg := range r.slots().ranges[old] {
		for i := rg.Start; i <= rg.End; i++ {
			r.table[i] = uint16(r.idx) //nolint:gosec // A simulation has few nodes.
		}
	}
	r.changed()
	r.primary, r.master, r.roleAt = true, 0, s.now
	r.linkUp, r.syncing, r.electAt, r.manual = false, false, 0, nil
	r.epoch = r.cur
	if o := s.nodes[old]; o.answers() {
		o.paused = false
	}
	s.redirectOpen(old, r.idx)
	s.broadcast(r)
}

// redirectOpen lets open slots point to the new primary, as Valkey does.
func (s *Sim) redirectOpen(old, now int) {
	for _, n := range s.alive {
		if s.rng.Float64() < 0.2 {
			continue
		}
		for slot, o := range n.open {
			if o.peer == old {
				n.open[slot] = open{migrating: o.migrating, peer: now}
			}
		}
	}
}

// tickReplication copies data from primaries to replicas.
func (s *Sim) tickReplication() {
	for _, r := range s.alive {
		if !r.answers() || r.primary {
			continue
		}
		p := s.nodes[r.master]
		if v := r.views[p.idx]; v != nil && !v.primary && v.master != r.idx && v.master != 0 && v.master != p.idx {
			// A replica of a replica follows that one's primary.
			s.follow(r, s.nodes[v.master])
			continue
		}
		s.replicateFrom(r, p)
	}
}

func (s *Sim) replicateFrom(r, p *node) {
	reachable := reach(r, p) && p.primary
	if reachable {
		r.heard = s.now
	}
	switch {
	case !reachable:
		r.syncing = false
		if r.linkUp && (!p.up && !s.hosts[p.pod.host].down || !p.primary || s.now-r.heard > replTimeout) {
			r.linkUp, r.linkSince = false, s.now
		}
	case r.linkUp:
		if s.rng.Float64() < 0.7 {
			s.copyData(r, p)
		}
	case r.syncing:
		if s.now < r.syncDone {
			return
		}
		r.syncing = false
		if s.rng.Float64() < s.profile.syncFails {
			return
		}
		r.lineage, r.linkUp = p.lineage, true
		s.copyData(r, p)
	case r.lineage == p.lineage:
		r.linkUp = true
		s.copyData(r, p)
	default:
		s.startSync(r, p)
	}
}

func (s *Sim) startSync(r, p *node) {
	r.syncing, r.lineage = true, -1
	r.data, r.offset = [keyCount]uint32{}, 0
	d := 200*time.Millisecond + time.Duration(s.rng.Int64N(int64(s.profile.syncTime)))
	if p.delay > 0 {
		d += time.Duration(s.rng.Int64N(int64(p.delay)))
	}
	r.syncDone = s.now + d
}

// copyData lets a replica catch up with its primary.
func (s *Sim) copyData(r, p *node) {
	r.data, r.offset = p.data, p.offset
	clear(r.open)
	maps.Copy(r.open, p.open)
}

// tickFailover runs the elections of replicas, ordered ones and Valkey's own.
func (s *Sim) tickFailover() {
	for _, r := range s.alive {
		if !r.answers() || r.primary {
			continue
		}
		switch {
		case r.manual != nil:
			s.tickManual(r)
		default:
			s.tickElection(r)
		}
	}
}

func (s *Sim) tickManual(r *node) {
	p := s.nodes[r.master]
	if s.now > r.manual.until {
		r.manual = nil
		p.paused = false
		return
	}
	switch r.manual.mode {
	case topology.FailoverTakeover:
		r.cur++
		s.excuseUnreachable(r)
		s.promote(r)
	case topology.FailoverForce:
		if s.asks(r) && s.votes(r, true) {
			s.excuseUnreachable(r)
			s.promote(r)
		}
	default:
		if !reach(r, p) || !r.linkUp {
			return
		}
		p.paused = true
		s.copyData(r, p)
		if s.asks(r) && s.votes(r, true) {
			s.ordered(r)
			s.promote(r)
		}
	}
}

// asks tells whether a replica may ask for votes. It does so once in a while, in an
// ordered failover too: voters that were asked at different times would never agree
// if it asked again at once.
func (s *Sim) asks(r *node) bool {
	if s.now < r.askAgain {
		return false
	}
	r.askAgain = s.now + 4*r.timeout
	return true
}

// tickElection is Valkey's own failover.
func (s *Sim) tickElection(r *node) {
	v := r.views[r.master]
	if v == nil || !v.fail || r.isolated || r.lineage < 0 || len(r.slots().ranges[r.master]) == 0 {
		r.electAt = 0
		return
	}
	if !r.linkUp && s.now-r.linkSince > 10*r.timeout+10*time.Second {
		return
	}
	if r.electAt == 0 {
		r.electAt = s.now + 500*time.Millisecond + time.Duration(s.rng.Int64N(int64(500*time.Millisecond))) + time.Duration(s.rank(r))*time.Second
		return
	}
	if s.now < r.electAt {
		return
	}
	if !s.votes(r, false) {
		r.electAt = s.now + max(4*r.timeout, 4*time.Second)
		return
	}
	// What the old primary took last is lost by Valkey's own doing.
	s.excuse(r)
	s.promote(r)
}

func (s *Sim) rank(r *node) int {
	n := 0
	for _, o := range s.alive {
		if o != r && o.answers() && !o.primary && o.master == r.master && o.offset > r.offset {
			n++
		}
	}
	return n
}

// votes asks all primaries for their vote.
func (s *Sim) votes(r *node, force bool) bool {
	owners := r.slots().ranges
	r.cur++
	n := 0
	for o := range owners {
		if p := s.nodes[o]; o != r.idx && s.vote(p, r, force) {
			n++
		}
	}
	return n >= len(owners)/2+1
}

func (s *Sim) vote(p, r *node, force bool) bool {
	if !reach(p, r) || !p.primary || len(p.own()) == 0 || p.views[r.idx] == nil || p.lastVoted >= r.cur {
		return false
	}
	mv := p.views[r.master]
	if p.idx != r.master && (mv == nil || (!force && !mv.fail)) {
		return false
	}
	if p.idx == r.master && !force {
		return false
	}
	if at, ok := p.votedFor[r.master]; ok && s.now-at < 2*p.timeout {
		return false
	}
	epoch := r.viewEpoch(r.master)
	for _, rg := range r.slots().ranges[r.master] {
		if o := int(p.table[rg.Start]); o != nobody && o != r.master && p.viewEpoch(o) > epoch {
			return false
		}
	}
	p.lastVoted, p.cur = r.cur, max(p.cur, r.cur)
	p.votedFor[r.master] = s.now
	return true
}
