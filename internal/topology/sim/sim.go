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
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// A Planner is the function under test, topology.Next or a broken one.
type Planner func(topology.Goal, topology.Snapshot) topology.Plan

// A profile says how rough a run is.
type profile struct {
	edits      float64
	faults     float64
	timeouts   float64
	actFails   float64
	killed     float64
	jobFails   float64
	syncFails  float64
	interrupts float64
	cordons    float64
	outages    float64
	syncTime   time.Duration
}

// Bounds of a run.
const (
	// convergeWithin bounds the simulated time to converge after the last fault.
	convergeWithin = 15 * time.Minute
	// quietFor is how long a converged cluster is watched for flapping. It is
	// longer than the ban of a forgotten node.
	quietFor = 90 * time.Second
)

// A Sim is one run.
type Sim struct {
	// KillAfter kills the provider once, after so many actions. 0 means never.
	KillAfter int
	// Violations of invariants found so far.
	Violations []string
	// Steps done so far: actions carried out or failed, and waits.
	Steps int
	// Took is the simulated time from the last fault to convergence. Primaries may
	// be spread better after that.
	Took time.Duration
	// Log receives what happens, if it is set.
	Log func(format string, args ...any)

	seed uint64
	rng  *rand.Rand
	// land is the randomness of what happens to hosts.
	land    *rand.Rand
	hosts   [hostCount]host
	now     time.Duration
	plan    Planner
	profile profile

	goal        topology.Goal
	template    int
	baseTimeout time.Duration
	version     string
	atomic      bool

	members []*member
	nodes   []*node
	byID    map[string]*node
	alive   []*node
	ghosts  []*node
	cache   []cached

	claimants   []*node
	acked       [keyCount]uint32
	value       uint32
	faults      int
	edited      time.Duration
	passAt      time.Duration
	cachedAt    time.Duration
	cacheFaults int
	truth       truth
	answered    map[string]bool
	failovers   map[int]int
	balanced    map[int]int
	orderedAt   map[string]time.Duration
	bothSince   time.Duration

	unschedulable time.Duration
	crashLoop     time.Duration
	heals         []heal
	acted         int
}

// New returns a run of a seed.
func New(seed uint64, p Planner) *Sim {
	//nolint:gosec // Runs must be repeatable.
	s := &Sim{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x5eed)), land: rand.New(rand.NewPCG(seed, 0x1a9d)), plan: p, baseTimeout: 5 * time.Second, byID: map[string]*node{}, failovers: map[int]int{}, balanced: map[int]int{}, orderedAt: map[string]time.Duration{}}
	s.nodes = []*node{{}}
	s.now = time.Second
	s.atomic, s.version = s.rng.Float64() < 0.6, "9.1.2"
	if !s.atomic {
		s.version = "8.1.1"
	}
	s.goal = topology.Goal{Shards: 1 + s.rng.IntN(6), Replicas: s.rng.IntN(3), NodeTimeout: 5 * time.Second, SyncDelay: 5 * time.Second}
	s.retemplate(0)
	s.profile = profiles[s.rng.IntN(len(profiles))]
	if s.land.Float64() < 0.5 {
		s.profile.cordons = 0.01
	}
	if s.land.Float64() < 0.5 {
		s.profile.outages = 0.004
	}
	return s
}

// Boot returns a run without edits and faults that forms a cluster.
func Boot(shards, replicas int, p Planner) *Sim {
	s := New(uint64(shards*10+replicas), p) //nolint:gosec // Small numbers.
	s.goal.Shards, s.goal.Replicas = shards, replicas
	s.profile = profile{syncTime: time.Second}
	return s
}

func (s *Sim) retemplate(t int) {
	s.template = t
	s.goal.Template = fmt.Sprint(t)
	s.goal.NewName = func(shard, k int) string { return fmt.Sprintf("s%d-t%d-%d", shard, t, k) }
}

func (s *Sim) log(format string, args ...any) {
	if s.Log != nil {
		s.Log("%7.2fs #%d "+format, append([]any{s.now.Seconds(), s.Steps}, args...)...)
	}
}

// Run works for about so many steps with edits and faults, then lets the cluster
// converge, and watches that it stays so.
func (s *Sim) Run(steps int) {
	for s.Steps < steps && len(s.Violations) == 0 {
		s.pass(true)
	}
	s.calm()
	if len(s.Violations) == 0 && s.converge() {
		s.stay()
	}
}

func (s *Sim) converge() bool {
	start := s.now
	s.Took = 0
	for s.now-start < convergeWithin && len(s.Violations) == 0 {
		p := s.pass(false)
		if !p.Converged || s.cachedAt != s.passAt {
			continue
		}
		if s.Took == 0 {
			s.Took = s.now - start
		}
		if p.Rest == 0 {
			return true
		}
	}
	if len(s.Violations) == 0 {
		s.violate("seed %d does not converge: %s", s.seed, s.describe())
	}
	return false
}

// stay checks that a converged cluster has nothing more to do.
func (s *Sim) stay() {
	start := s.now
	for s.now-start < quietFor && len(s.Violations) == 0 {
		s.advance(5 * time.Second)
		s.cache = nil
		p := s.pass(false)
		if len(p.Actions) > 0 && len(s.Violations) == 0 {
			s.violate("a converged cluster has work again: %s", p.Actions[0])
		}
	}
}

// pass is one pass of the provider: observe, plan, act.
func (s *Sim) pass(rough bool) topology.Plan {
	snap := s.snapshot()
	s.takeTruth(s.goal)
	s.passAt = s.now
	p := s.plan(s.goal, snap)
	s.log("plan %s: %s", p.Reason, p.Message)
	s.checkPlan(p)
	s.checkRolling(p)
	s.checkConverged(p)
	acts := slices.Clone(p.Actions)
	s.rng.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
	for _, a := range acts {
		if rough && s.rng.Float64() < s.profile.killed {
			s.log("provider killed")
			s.wait(time.Duration(s.rng.Int64N(int64(5*time.Second))), rough)
			return p
		}
		s.step(a, rough)
		if s.acted++; s.acted == s.KillAfter {
			s.log("provider killed")
			break
		}
		if len(s.Violations) > 0 {
			return p
		}
	}
	d := 300*time.Millisecond + time.Duration(s.rng.Int64N(int64(700*time.Millisecond)))
	if p.Converged {
		d = time.Duration(2+s.rng.IntN(3)) * time.Second
	}
	s.wait(d, rough)
	return p
}

// step carries out one action.
func (s *Sim) step(a topology.Action, rough bool) {
	s.Steps++
	if rough && s.rng.Float64() < s.profile.actFails {
		s.log("%s FAILS", a)
	} else if err := s.act(a); err != nil {
		s.log("%s: %v", a, err)
	} else {
		s.log("%s", a)
	}
	if s.rng.Float64() < 0.25 {
		s.advance(time.Duration(s.rng.Int64N(int64(60 * time.Millisecond))))
	}
	s.events(rough)
	s.checkData()
}

func (s *Sim) wait(d time.Duration, rough bool) {
	s.Steps++
	s.events(rough)
	s.advance(d)
	s.checkData()
	s.checkOwners()
}

// advance lets simulated time pass.
func (s *Sim) advance(d time.Duration) {
	const tick = 250 * time.Millisecond
	for d > 0 {
		dt := min(d, tick)
		s.now += dt
		d -= dt
		s.heal()
		s.tickPods()
		s.tickGossip(dt)
		s.tickFailures()
		s.tickReplication()
		s.tickFailover()
		s.tickJobs()
		s.refreshClaimants()
		s.client()
	}
	s.bury()
}

// bury forgets dead processes that nobody knows any more.
func (s *Sim) bury() {
	s.ghosts = slices.DeleteFunc(s.ghosts, func(g *node) bool {
		if g.primary && len(g.own()) > 0 || s.member(g.pod.name) != nil {
			return false
		}
		known := slices.ContainsFunc(s.alive, func(n *node) bool {
			return n.views[g.idx] != nil || (!n.primary && n.master == g.idx)
		})
		if !known {
			for _, n := range s.nodes {
				if g.idx < len(n.views) {
					n.views[g.idx] = nil
				}
			}
		}
		return !known
	})
}

// describe renders the state for a failure's message.
func (s *Sim) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "goal %dx%d template %d hosts %+v\n", s.goal.Shards, s.goal.Replicas, s.template, s.hosts)
	for _, m := range s.members {
		fmt.Fprintf(&b, "  %s shard=%d host=%d id=%s %s pod=%s tmpl=%d del=%v ret=%v evict=%v", m.name, m.shard, m.host, m.id, m.phase, m.pod, m.template, m.deleting, m.retired, m.evicted)
		if n := m.node; n != nil {
			known := 0
			for _, v := range n.views {
				if v != nil {
					known++
				}
			}
			fmt.Fprintf(&b, " | %s up=%v hung=%v prim=%v master=%s ok=%v epoch=%d slots=%s link=%v sync=%v knows=%d keys=%d open=%d to=%v",
				n.id, n.up, n.hung, n.primary, s.nodes[n.master].id, n.ok, n.epoch, topology.FormatRanges(n.own()), n.linkUp, n.syncing, known, n.keys(), len(n.open), n.timeout)
		}
		b.WriteString("\n")
	}
	s.describeDoubts(&b)
	snap := s.snapshot()
	p := s.plan(s.goal, snap)
	fmt.Fprintf(&b, "  plan: %s: %s problems=%v\n", p.Reason, p.Message, p.Problems)
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "    - %s\n", a)
	}
	return b.String()
}

// describeDoubts lists views of slots that differ from what their owners claim.
func (s *Sim) describeDoubts(b *strings.Builder) {
	for _, n := range s.alive {
		for _, o := range s.alive {
			mine, theirs := n.slots().ranges[o.idx], o.own()
			if n != o && o.primary && !slices.Equal(mine, theirs) {
				fmt.Fprintf(b, "  %s sees %s of %s (epoch %d)\n", n.pod.name, topology.FormatRanges(mine), o.pod.name, n.viewEpoch(o.idx))
			}
		}
	}
}
