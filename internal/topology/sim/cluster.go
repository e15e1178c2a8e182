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

// Package sim simulates a Valkey cluster in pods that obeys the actions of
// package topology, with the faults that real ones have. It exists to test the
// planner: it needs no Kubernetes, no network and no clock.
package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

const (
	// keyCount is the number of keys that the simulated client tracks.
	keyCount = 48
	// keyWeight is how many keys a tracked key stands for.
	keyWeight = 4000
	// forgetBan is how long a forgotten node id is not learnt again.
	forgetBan = 60 * time.Second
	// replTimeout is how long a replica takes a silent primary for alive.
	replTimeout = 60 * time.Second
	// manualTimeout is how long an ordered failover may take.
	manualTimeout = 5 * time.Second
	// nobody is the owner of a slot that nobody has.
	nobody = 0
)

// keySlot is the slot of a tracked key. They are spread over all slots.
func keySlot(k int) int { return (k*topology.SlotCount)/keyCount + (k*37)%300 }

// A view is what one process believes of another one.
type view struct {
	primary  bool
	master   int
	epoch    uint64
	pfail    bool
	fail     bool
	failAt   time.Duration
	lastPong time.Duration
	linkUp   bool
	// applied are the versions of the sender's and of our slot table at which
	// the sender's claims were last applied.
	applied [2]int
}

// A handshake is a MEET that was not answered yet.
type handshake struct {
	to    *node
	at    time.Duration
	until time.Duration
}

// An open slot is in the middle of a classic migration.
type open struct {
	migrating bool
	peer      int
}

// A job is an atomic slot migration.
type job struct {
	src, dst *node
	ranges   []topology.SlotRange
	done     time.Duration
	updated  time.Duration
	active   bool
	failed   bool
	message  string
}

// A manual is a failover that was ordered.
type manual struct {
	mode    topology.FailoverMode
	balance bool
	until   time.Duration
}

// A node is one Valkey process.
type node struct {
	idx   int
	id    string
	ip    string
	pod   *member
	shard string

	up       bool
	hung     bool
	isolated bool

	primary  bool
	master   int
	roleAt   time.Duration
	epoch    uint64
	cur      uint64
	table    [topology.SlotCount]uint16
	tver     int
	cache    slotCache
	views    []*view
	shakes   []handshake
	ban      map[int]time.Duration
	ok       bool
	minority time.Duration
	timeout  time.Duration
	delay    time.Duration
	startAt  time.Duration

	linkUp    bool
	syncing   bool
	syncDone  time.Duration
	linkSince time.Duration
	heard     time.Duration
	lineage   int
	offset    int64
	data      [keyCount]uint32

	open   map[int]open
	jobs   []*job
	manual *manual
	paused bool

	electAt   time.Duration
	askAgain  time.Duration
	votedFor  map[int]time.Duration
	lastVoted uint64
}

// A slotCache holds what is derived from a slot table.
type slotCache struct {
	valid      bool
	ranges     map[int][]topology.SlotRange
	unassigned int
}

func (n *node) slots() *slotCache {
	if n.cache.valid {
		return &n.cache
	}
	c := slotCache{valid: true, ranges: map[int][]topology.SlotRange{}}
	for i := 0; i < topology.SlotCount; {
		o, j := n.table[i], i+1
		for j < topology.SlotCount && n.table[j] == o {
			j++
		}
		if o == nobody {
			c.unassigned += j - i
		} else {
			c.ranges[int(o)] = append(c.ranges[int(o)], topology.SlotRange{Start: i, End: j - 1})
		}
		i = j
	}
	n.cache = c
	return &n.cache
}

func (n *node) own() []topology.SlotRange { return n.slots().ranges[n.idx] }

func (n *node) set(slot, owner int) {
	if int(n.table[slot]) == owner {
		return
	}
	n.table[slot] = uint16(owner) //nolint:gosec // A simulation has few nodes.
	n.changed()
}

func (n *node) changed() {
	n.tver++
	n.cache.valid = false
}

// answers tells whether the process can do anything at all.
func (n *node) answers() bool { return n.up && !n.hung }

func reach(a, b *node) bool {
	return a.answers() && b.answers() && !a.isolated && !b.isolated
}

// viewEpoch is the config epoch that n knows of another node.
func (n *node) viewEpoch(o int) uint64 {
	if o == n.idx {
		return n.epoch
	}
	if v := n.views[o]; v != nil {
		return v.epoch
	}
	return 0
}

func (s *Sim) newNode(m *member) *node {
	n := &node{
		idx: len(s.nodes), pod: m, up: true, primary: true, roleAt: s.now, startAt: s.now, minority: s.now,
		timeout: s.baseTimeout, delay: 5 * time.Second, open: map[int]open{}, ban: map[int]time.Duration{}, votedFor: map[int]time.Duration{},
	}
	n.id = fmt.Sprintf("%03x%05x", n.idx, s.rng.Uint32N(1<<20))
	n.ip = fmt.Sprintf("10.0.%d.%d", n.idx/250, n.idx%250)
	n.shard, n.lineage = n.id, n.idx
	s.nodes = append(s.nodes, n)
	s.byID[n.id] = n
	for _, o := range s.nodes {
		for len(o.views) < len(s.nodes) {
			o.views = append(o.views, nil)
		}
	}
	s.alive = append(s.alive, n)
	return n
}

// learn adds a node to the view of n.
func (s *Sim) learn(n, o *node) *view {
	if v := n.views[o.idx]; v != nil {
		return v
	}
	v := &view{primary: true, lastPong: s.now}
	n.views[o.idx] = v
	return v
}

// tickGossip exchanges headers between nodes that are due.
func (s *Sim) tickGossip(dt time.Duration) {
	for _, a := range s.alive {
		if !a.answers() || a.isolated {
			continue
		}
		s.tickHandshakes(a)
		for _, b := range s.alive {
			v := a.views[b.idx]
			if a == b || v == nil || !reach(a, b) {
				continue
			}
			wait := a.timeout / 2
			if v.linkUp && s.now-v.lastPong < wait && s.rng.Float64() > float64(dt)/float64(time.Second) {
				continue
			}
			s.exchange(a, b)
		}
	}
}

func (s *Sim) tickHandshakes(a *node) {
	var left []handshake
	for _, h := range a.shakes {
		switch {
		case s.now < h.at:
			left = append(left, h)
		case !reach(a, h.to):
			if s.now < h.until {
				left = append(left, h)
			}
		case a.ban[h.to.idx] > s.now:
			// A MEET of a node that was forgotten lately does nothing.
		default:
			s.learn(a, h.to)
			if h.to.ban[a.idx] <= s.now {
				s.learn(h.to, a)
			}
			s.exchange(a, h.to)
		}
	}
	a.shakes = left
}

// exchange is a PING and its PONG.
func (s *Sim) exchange(a, b *node) {
	s.receive(b, a)
	s.receive(a, b)
}

// receive handles a header that came from another node.
func (s *Sim) receive(me, from *node) {
	v := me.views[from.idx]
	if v == nil {
		// Since 8.1 a forgotten node that lives comes back after the ban.
		if until, ok := me.ban[from.idx]; !ok || until > s.now {
			return
		}
		delete(me.ban, from.idx)
		v = s.learn(me, from)
	}
	v.lastPong, v.linkUp, v.pfail = s.now, true, false
	if v.fail && (!v.primary || s.now-v.failAt > 2*me.timeout || len(me.slots().ranges[from.idx]) == 0) {
		v.fail = false
	}
	v.primary, v.master, v.epoch = from.primary, from.master, from.epoch
	me.cur = max(me.cur, from.cur, from.epoch)
	if from.primary && me.primary && from.epoch == me.epoch && me.id > from.id {
		me.cur++
		me.epoch = me.cur
		me.tver++
	}
	if from.primary && v.applied != [2]int{from.tver, me.tver} {
		s.applyClaims(me, from.idx, from.own())
		v.applied = [2]int{from.tver, me.tver}
		s.correct(me, from)
	}
	s.gossip(me, from)
}

// gossip learns of nodes that the sender knows.
func (s *Sim) gossip(me, from *node) {
	for _, x := range s.alive {
		fv := from.views[x.idx]
		if x == me || x == from || fv == nil || me.views[x.idx] != nil || me.ban[x.idx] > s.now {
			continue
		}
		v := s.learn(me, x)
		v.primary, v.lastPong = fv.primary, s.now
	}
	for _, x := range s.ghosts {
		// A dead node that somebody still knows is learnt again too.
		fv := from.views[x.idx]
		if fv == nil || me.views[x.idx] != nil || me.ban[x.idx] > s.now {
			continue
		}
		v := s.learn(me, x)
		v.primary, v.fail, v.failAt = fv.primary, fv.fail, s.now
	}
}

// applyClaims binds slots to a sender whose config epoch is the greater one.
func (s *Sim) applyClaims(me *node, from int, claims []topology.SlotRange) {
	epoch := me.viewEpoch(from)
	lost, lostMaster := []int(nil), false
	for _, r := range claims {
		for i := r.Start; i <= r.End; i++ {
			cur := int(me.table[i])
			if cur == from || (cur != nobody && me.viewEpoch(cur) >= epoch) {
				continue
			}
			if cur == me.idx {
				lost = append(lost, i)
				s.dropSlot(me, i, from)
			}
			if !me.primary && cur == me.master {
				lostMaster = true
			}
			me.table[i] = uint16(from) //nolint:gosec // A simulation has few nodes.
			me.changed()
		}
	}
	sameShard := s.nodes[from].shard == me.shard
	switch {
	case len(lost) == 0 || !me.primary:
	case sameShard && len(me.own()) == 0:
		s.follow(me, s.nodes[from])
	default:
		// A primary that stays one deletes the keys of the slots it lost.
		for k := range keyCount {
			if slices.Contains(lost, keySlot(k)) {
				me.data[k] = 0
			}
		}
	}
	if lostMaster && sameShard && len(me.slots().ranges[me.master]) == 0 && from != me.idx && from != me.master {
		s.follow(me, s.nodes[from])
	}
}

// dropSlot ends the open state of a slot that moved to where it was to go.
func (s *Sim) dropSlot(me *node, slot, to int) {
	if o, ok := me.open[slot]; ok && o.migrating && o.peer == to {
		delete(me.open, slot)
	}
}

// correct tells a sender of the newer owner of a slot that it claims.
func (s *Sim) correct(me, from *node) {
	told := map[int]bool{}
	for _, r := range from.own() {
		for i := r.Start; i <= r.End; i++ {
			o := int(me.table[i])
			if o == from.idx || o == nobody || told[o] || me.viewEpoch(o) <= from.epoch {
				continue
			}
			told[o] = true
		}
	}
	for o := range told {
		if o != me.idx && from.views[o] == nil {
			continue
		}
		if o == me.idx {
			s.learnEpoch(from, o, me.epoch)
		} else {
			s.learnEpoch(from, o, me.viewEpoch(o))
		}
		s.applyClaims(from, o, s.stillClaimed(me, o))
	}
}

// stillClaimed returns the slots that n knows as another node's, without those
// that this one does not claim any more: nobody is told of them.
func (s *Sim) stillClaimed(n *node, o int) []topology.SlotRange {
	mine, theirs := topology.NewSlotSet(n.slots().ranges[o]...), topology.NewSlotSet(s.nodes[o].own()...)
	gone := mine
	gone.Subtract(&theirs)
	mine.Subtract(&gone)
	return mine.Ranges()
}

func (s *Sim) learnEpoch(n *node, o int, epoch uint64) {
	if v := n.views[o]; v != nil {
		v.epoch = max(v.epoch, epoch)
		v.primary = true
	}
}

// broadcast sends the header of a node to all that it reaches.
func (s *Sim) broadcast(n *node) {
	for _, o := range s.alive {
		if o != n && reach(n, o) && o.views[n.idx] != nil && s.rng.Float64() < 0.9 {
			s.receive(o, n)
		}
	}
}

// tickFailures marks nodes that do not answer, and judges the cluster's state.
func (s *Sim) tickFailures() {
	for _, a := range s.alive {
		if !a.answers() {
			continue
		}
		for i, v := range a.views {
			if v == nil {
				continue
			}
			o := s.nodes[i]
			if !o.up && (v.pfail || !s.hosts[o.pod.host].down) {
				// A link that is only tried counts as up. That lasts where the
				// address is gone and nothing refuses the attempt.
				v.linkUp = o.pod.pod == topology.PodDead && s.rng.Float64() < 0.5
			}
			if !v.pfail && !v.fail && s.now-v.lastPong > a.timeout && !reach(a, o) {
				v.pfail, v.linkUp = true, false
			}
			if v.pfail && !v.fail && s.agreeFail(a, i) {
				s.markFail(a, i)
			}
		}
		s.judge(a)
	}
}

// agreeFail tells whether a majority of the primaries reports a node.
func (s *Sim) agreeFail(a *node, i int) bool {
	owners := a.slots().ranges
	votes := 0
	if a.primary && len(a.own()) > 0 {
		votes++
	}
	for o := range owners {
		p := s.nodes[o]
		if o == a.idx || !reach(a, p) || p.views[i] == nil {
			continue
		}
		if p.views[i].pfail || p.views[i].fail {
			votes++
		}
	}
	return votes >= len(owners)/2+1
}

func (s *Sim) markFail(a *node, i int) {
	for _, o := range s.alive {
		if (o == a || reach(a, o)) && o.views[i] != nil && !o.views[i].fail {
			o.views[i].fail, o.views[i].pfail, o.views[i].failAt = true, true, s.now
		}
	}
}

// judge works out the node's own cluster_state.
func (s *Sim) judge(a *node) {
	c := a.slots()
	ok := c.unassigned == 0
	good := 0
	for o := range c.ranges {
		if o == a.idx {
			good++
			continue
		}
		v := a.views[o]
		switch {
		case v == nil:
			ok = false
		case v.fail:
			ok = false
		case !v.pfail:
			good++
		}
	}
	if good < len(c.ranges)/2+1 {
		ok = false
		a.minority = s.now
	}
	if ok && !a.ok && s.now-a.minority < min(max(a.timeout, 500*time.Millisecond), 5*time.Second) {
		return
	}
	a.ok = ok
}

// forget removes a node from a view and bans it.
func (s *Sim) forget(n, o *node) error {
	if n == o {
		return errors.New("ERR I tried hard but I can't forget myself")
	}
	if n.views[o.idx] == nil {
		return fmt.Errorf("unknown node %s", o.id)
	}
	if !n.primary && n.master == o.idx {
		return fmt.Errorf("can't forget my master")
	}
	n.views[o.idx] = nil
	n.ban[o.idx] = s.now + forgetBan
	for _, r := range n.slots().ranges[o.idx] {
		for i := r.Start; i <= r.End; i++ {
			n.table[i] = nobody
		}
	}
	n.changed()
	return nil
}

// forgetByGossip spreads a FORGET.
func (s *Sim) forgetByGossip(n, o *node) {
	for _, x := range s.alive {
		if x != n && x != o && reach(n, x) && x.views[o.idx] != nil && s.rng.Float64() < 0.5 {
			_ = s.forget(x, o)
		}
	}
}
