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
	"fmt"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// hostCount is the number of hosts that pods run on, zoneCount that of zones.
const (
	hostCount = 6
	zoneCount = 3
)

// A host is a Kubernetes node.
type host struct {
	cordoned bool
	// down means that nobody hears of the host: it has no power or is cut off.
	down bool
	// lost means that Kubernetes has noticed.
	lost bool
}

func zoneOf(host int) string { return fmt.Sprintf("z%d", host%zoneCount) }

// outdated says why a member is to be replaced, and "" if it is not.
func (s *Sim) outdated(m *member) string {
	switch {
	case m.template != s.template:
		return "its settings differ"
	case m.node != nil && s.hosts[m.host].cordoned:
		return fmt.Sprintf("its host h%d is cordoned", m.host)
	}
	return ""
}

// schedule picks the host of a pod that is about to start, and tells whether
// there is one.
func (s *Sim) schedule(m *member) bool {
	for range hostCount {
		if h := s.hosts[m.host]; m.bound || (!h.cordoned && !h.lost) {
			return true
		}
		m.host = (m.host + 1) % hostCount
	}
	return false
}

// cordon closes a host to new pods, which those on it are to leave, or opens it
// again. Never are all closed for good.
func (s *Sim) cordon() {
	h := s.land.IntN(hostCount)
	closed := 0
	for i := range s.hosts {
		if s.hosts[i].cordoned {
			closed++
		}
	}
	if closed == hostCount {
		for i := range s.hosts {
			s.hosts[i].cordoned = false
		}
	}
	s.hosts[h].cordoned = !s.hosts[h].cordoned
	s.log("EDIT host h%d cordoned=%v", h, s.hosts[h].cordoned)
	s.edited = s.now
	for _, m := range s.members {
		if m.host == h {
			s.touch(m.shard)
		}
	}
}

// outage takes the power of a host, or its network. The first host always comes
// back, so that there is one for new pods.
func (s *Sim) outage() {
	h := s.land.IntN(hostCount)
	if s.hosts[h].down {
		return
	}
	power, d := s.land.Float64() < 0.5, time.Duration(s.land.Int64N(int64(2*time.Minute)))
	forever := power && h > 0 && s.land.Float64() < 0.3
	if forever {
		d = time.Hour
	}
	s.log("FAULT host h%d is down for %v, power off: %v", h, d, power)
	s.hosts[h].down = true
	s.shock(h)
	for _, n := range s.on(h) {
		n.isolated = true
		if power {
			s.kill(n, true)
		}
	}
	unheard := 20*time.Second + time.Duration(s.land.Int64N(int64(20*time.Second)))
	evicted := unheard + 30*time.Second
	if unheard < d {
		s.later(unheard, func() {
			s.log("host h%d does not report", h)
			s.hosts[h].lost = true
			s.shock(h)
			s.endDoomed(h)
		})
	}
	if evicted < d {
		s.later(evicted, func() { s.evictHost(h) })
	}
	if !forever {
		s.later(d, func() { s.hostBack(h) })
	}
}

// on returns the processes that run on a host.
func (s *Sim) on(h int) []*node {
	var out []*node
	for _, n := range s.alive {
		if n.pod.host == h {
			out = append(out, n)
		}
	}
	return out
}

// shock notes that something happened to a host.
func (s *Sim) shock(h int) {
	s.faults++
	for _, m := range s.members {
		if m.host == h {
			s.touch(m.shard)
		}
	}
}

// evictHost deletes the pods of a host that does not report. They stay in the API,
// and for all that anybody can know their data is gone: the host ends them when
// it comes back.
func (s *Sim) evictHost(h int) {
	s.log("the pods of host h%d are deleted", h)
	s.shock(h)
	for _, m := range s.members {
		if m.host == h && (m.node != nil || m.bound) {
			m.evicted = true
		}
	}
	s.endDoomed(h)
}

// endDoomed ends the processes that a host will end when it comes back.
func (s *Sim) endDoomed(h int) {
	for _, n := range s.on(h) {
		if n.pod.evicted {
			s.kill(n, true)
		}
	}
}

// force deletes the pod of a released member whose host does not report. Should
// the host be there after all, it ends the process soon.
func (s *Sim) force(m *member) {
	m.pod, m.died, m.message, m.forced = topology.PodDead, s.now, "its pod is gone", true
	if !s.hosts[m.host].down {
		s.endSoon(m.node)
	}
}

func (s *Sim) endSoon(n *node) {
	s.later(time.Duration(s.land.Int64N(int64(4*time.Second))), func() { s.kill(n, false) })
}

// hostBack ends an outage. What the host still runs of pods that are gone lives
// for a moment and must not come back into the cluster.
func (s *Sim) hostBack(h int) {
	s.log("host h%d is back", h)
	s.hosts[h].down = false
	s.shock(h)
	for _, n := range s.on(h) {
		n.isolated = false
		if n.pod.forced || s.member(n.pod.name) != n.pod {
			s.endSoon(n)
		}
	}
	s.later(time.Duration(s.land.Int64N(int64(5*time.Second))), func() {
		s.hosts[h].lost = false
		s.shock(h)
	})
}
