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
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// profiles of runs: edits only, light faults, heavy faults.
var profiles = []profile{
	{edits: 0.01, syncTime: time.Second},
	{edits: 0.01, faults: 0.01, killed: 0.01, actFails: 0.02, timeouts: 0.002, syncTime: 2 * time.Second, jobFails: 0.05, syncFails: 0.05, interrupts: 0.2},
	{edits: 0.006, faults: 0.03, killed: 0.03, actFails: 0.05, timeouts: 0.01, syncTime: 5 * time.Second, jobFails: 0.2, syncFails: 0.2, interrupts: 0.5},
	{edits: 0.03, faults: 0.004, killed: 0.05, actFails: 0.05, syncTime: 3 * time.Second, jobFails: 0.1, interrupts: 0.5},
}

// A heal ends a fault.
type heal struct {
	at time.Duration
	do func()
}

func (s *Sim) later(d time.Duration, f func()) { s.heals = append(s.heals, heal{at: s.now + d, do: f}) }

func (s *Sim) heal() {
	var left []heal
	due := []heal{}
	for _, h := range s.heals {
		if s.now >= h.at {
			due = append(due, h)
		} else {
			left = append(left, h)
		}
	}
	s.heals = left
	for _, h := range due {
		h.do()
	}
}

// calm ends all faults.
func (s *Sim) calm() {
	due := s.heals
	s.heals = nil
	for _, h := range due {
		h.do()
	}
	s.unschedulable, s.crashLoop = 0, 0
	s.hosts[0].cordoned = false
	s.profile.timeouts, s.profile.jobFails, s.profile.syncFails, s.profile.interrupts = 0, 0, 0, 0
	s.log("calm")
}

// events lets edits and faults happen at random.
func (s *Sim) events(rough bool) {
	if !rough {
		return
	}
	if s.rng.Float64() < s.profile.edits {
		s.edit()
	}
	if s.rng.Float64() < s.profile.faults {
		s.fault()
	}
	if s.land.Float64() < s.profile.cordons {
		s.cordon()
	}
	if s.land.Float64() < s.profile.outages {
		s.outage()
	}
}

func (s *Sim) edit() {
	s.edited = s.now
	clear(s.failovers)
	clear(s.balanced)
	switch s.rng.IntN(4) {
	case 0:
		s.goal.Shards = 1 + s.rng.IntN(6)
	case 1:
		s.goal.Replicas = s.rng.IntN(3)
	default:
		s.retemplate(s.rng.IntN(3))
	}
	s.log("EDIT goal %dx%d template %d", s.goal.Shards, s.goal.Replicas, s.template)
}

// victim picks a member with a running process.
func (s *Sim) victim() *member {
	if len(s.alive) == 0 {
		return nil
	}
	return s.alive[s.rng.IntN(len(s.alive))].pod
}

func (s *Sim) fault() {
	m := s.victim()
	if m == nil {
		return
	}
	s.faults++
	s.touch(m.shard)
	switch s.rng.IntN(14) {
	case 0, 1, 2:
		s.log("FAULT %s crashes", m.name)
		s.kill(m.node, true)
	case 3:
		s.hang(m)
	case 4:
		s.isolate(m)
	case 5:
		s.evict(m)
	case 6:
		s.forceDelete(m)
	case 7, 8:
		s.log("FAULT somebody deletes member %s", m.name)
		m.deleting = true
	case 9:
		s.log("FAULT the provider cannot connect to %s", m.name)
		m.walled = s.now + time.Duration(s.rng.Int64N(int64(20*time.Second)))
	case 10:
		s.log("FAULT nothing can be scheduled")
		s.unschedulable = s.now + time.Duration(s.rng.Int64N(int64(40*time.Second)))
	case 11:
		s.log("FAULT new pods crash")
		s.crashLoop = s.now + time.Duration(s.rng.Int64N(int64(40*time.Second)))
	case 12:
		s.loseHost(m.host)
	case 13:
		s.rare(m)
	}
}

func (s *Sim) rare(m *member) {
	switch s.rng.IntN(4) {
	case 0:
		s.log("FAULT all pods die at once")
		for len(s.alive) > 0 {
			s.kill(s.alive[0], true)
		}
	case 1:
		s.log("FAULT %s comes back with another id", m.name)
		s.kill(m.node, true)
		m.node = s.newNode(m)
	case 2:
		s.log("FAULT %s comes back empty", m.name)
		s.restartEmpty(m.node)
	case 3:
		s.log("FAULT replica %s loses its link", m.name)
		if n := m.node; !n.primary {
			n.linkUp, n.syncing, n.lineage = false, false, -1
		}
	}
}

// restartEmpty lets a process restart in place without its data.
func (s *Sim) restartEmpty(n *node) {
	n.data, n.offset, n.lineage = [keyCount]uint32{}, 0, n.idx+100000
	n.linkUp, n.syncing, n.ok, n.minority, n.manual = false, false, false, s.now, nil
	s.failJobs(n, "Connection lost to source")
	for _, r := range s.alive {
		if !r.primary && r.master == n.idx && n.primary {
			r.linkUp, r.linkSince = false, s.now
		}
	}
	s.excuseDead()
}

func (s *Sim) hang(m *member) {
	d := time.Duration(s.rng.Int64N(int64(40 * time.Second)))
	s.log("FAULT %s hangs for %v", m.name, d)
	n := m.node
	n.hung = true
	s.later(d, func() { n.hung = false; s.faults++; s.touch(m.shard); s.log("%s goes on", m.name) })
}

// isolate cuts a host off. If that lasts, Kubernetes declares the pod dead, and
// its process ends when the host is back.
func (s *Sim) isolate(m *member) {
	d := time.Duration(s.rng.Int64N(int64(90 * time.Second)))
	s.log("FAULT %s is cut off for %v", m.name, d)
	n := m.node
	n.isolated = true
	dead := false
	if d > 40*time.Second {
		s.later(40*time.Second, func() {
			if n.up {
				dead = true
				m.pod, m.died, m.message = topology.PodDead, s.now, "its host does not report"
				// For all that anybody can know its data is gone.
				s.kill(n, true)
			}
		})
	}
	s.later(d, func() {
		n.isolated = false
		s.faults++
		s.touch(m.shard)
		if !dead {
			s.log("%s is reachable again", m.name)
		}
	})
}

func (s *Sim) evict(m *member) {
	d := time.Duration(s.rng.Int64N(int64(30 * time.Second)))
	s.log("FAULT %s is evicted, grace %v", m.name, d)
	m.evicted = true
	if s.hosts[m.host].lost {
		s.endDoomed(m.host)
	}
	if m.stopAt == 0 {
		m.stopAt = s.now + d + 1
	}
}

// forceDelete removes the pod from the API while its process lives on a little.
func (s *Sim) forceDelete(m *member) {
	d := time.Duration(s.rng.Int64N(int64(8 * time.Second)))
	s.log("FAULT %s is deleted by force, its process lives for %v", m.name, d)
	m.pod, m.died, m.message = topology.PodDead, s.now, "its pod is gone"
	if m.node.isolated {
		// For all that anybody can know it is gone.
		s.kill(m.node, true)
	}
	if m.stopAt == 0 {
		m.stopAt = s.now + d + 1
	}
}

func (s *Sim) loseHost(h int) {
	s.log("FAULT host %d dies", h)
	for _, m := range s.members {
		if m.host == h && m.node != nil && m.node.up {
			s.kill(m.node, true)
		}
	}
}
