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

package valkeysim

import (
	"crypto/rand"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

const (
	// syncTime is how long a replica needs for a copy of its primary's data.
	syncTime = 200 * time.Millisecond
	// followTime is how long a former primary needs to follow its successor.
	followTime = 50 * time.Millisecond
	// defaultTimeout is the cluster-node-timeout of a server that was given none.
	defaultTimeout = 5 * time.Second
)

// A server is one process. What all members of its cluster know of it is here too, as long as somebody remembers it.
type server struct {
	id, runID, version string
	ip                 netip.Addr
	started            time.Time
	// ended is when the process ended, zero while it runs.
	ended   time.Time
	cluster *cluster
	epoch   uint64
	slots   topology.SlotSet
	// primary is what the server replicates, nil for a primary; synced is from when on it does.
	primary *server
	synced  time.Time

	users    users
	settings map[string]string
	conns    map[*conn]bool
}

// A cluster is the servers that know each other, by id.
type cluster struct {
	members map[string]*server
	// forgotten are ids that were members.
	forgotten map[string]bool
	epoch     uint64
}

func newServer(ip netip.Addr, o Options) *server {
	s := &server{
		id: randomID(), runID: randomID(), version: o.Version, ip: ip, started: time.Now(),
		users: parseUsers(o.Users), conns: map[*conn]bool{},
		settings: map[string]string{"cluster-node-timeout": "5000", "repl-diskless-sync-delay": "5"},
	}
	s.cluster = &cluster{members: map[string]*server{s.id: s}, forgotten: map[string]bool{}}
	return s
}

func randomID() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // It never fails.
	return hex.EncodeToString(b)
}

func (s *server) runs() bool { return s.ended.IsZero() }

// fails tells whether the others hold the server for dead.
func (s *server) fails(now time.Time) bool {
	return !s.runs() && now.Sub(s.ended) > defaultTimeout
}

// linked tells whether a replica streams from its primary.
func (s *server) linked(now time.Time) bool {
	return s.primary != nil && s.primary.runs() && !now.Before(s.synced)
}

// claim is the config epoch of the server's shard.
func (s *server) claim() uint64 {
	if s.primary != nil {
		return s.primary.epoch
	}
	return s.epoch
}

func (s *server) replicates(p *server, in time.Duration) {
	s.primary, s.synced = p, time.Now().Add(in)
}

// meet makes the members of two clusters those of one.
func (c *cluster) meet(o *cluster) {
	if c == o {
		return
	}
	for id, m := range o.members {
		c.members[id] = m
		m.cluster = c
	}
	c.epoch = max(c.epoch, o.epoch)
}

func (c *cluster) bump(s *server) {
	c.epoch++
	s.epoch = c.epoch
}

// owner returns who has a slot, or nil.
func (c *cluster) owner(slot int) *server {
	for _, m := range c.members {
		if m.slots.Has(slot) {
			return m
		}
	}
	return nil
}

// give makes a member the owner of a slot.
func (c *cluster) give(slot int, to *server) {
	if o := c.owner(slot); o != nil {
		o.slots.Remove(slot)
	}
	to.slots.Add(slot)
}

// health tells how many slots have an owner, how many owners there are, how many of those run, and whether every slot
// has an owner that does not fail.
func (c *cluster) health(now time.Time) (assigned, size, alive int, serves bool) {
	fails := false
	for _, m := range c.members {
		n := m.slots.Len()
		if n == 0 {
			continue
		}
		assigned += n
		size++
		if m.runs() {
			alive++
		}
		fails = fails || m.fails(now)
	}
	return assigned, size, alive, assigned == topology.SlotCount && !fails
}

// promote makes a replica the primary of its shard.
func (c *cluster) promote(r *server) {
	old := r.primary
	r.primary = nil
	c.bump(r)
	r.slots, old.slots = old.slots, topology.SlotSet{}
	for _, m := range c.members {
		if (m == old && m.runs()) || m.primary == old {
			m.replicates(r, followTime)
		}
	}
}
