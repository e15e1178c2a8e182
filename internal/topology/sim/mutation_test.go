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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// lie returns a copy of a snapshot in which members and their processes may be
// changed.
func lie(s topology.Snapshot, change func(m *topology.Member)) topology.Snapshot {
	out := topology.Snapshot{Members: slices.Clone(s.Members)}
	for i := range out.Members {
		m := &out.Members[i]
		if m.Process != nil {
			p := *m.Process
			p.Peers = maps.Clone(p.Peers)
			m.Process = &p
		}
		change(m)
	}
	return out
}

// cutLinks says that nobody has a connection to a node id.
func cutLinks(s topology.Snapshot, ids map[string]bool) {
	for _, m := range s.Members {
		if m.Process == nil {
			continue
		}
		for id := range ids {
			if p, ok := m.Process.Peers[id]; ok {
				p.LinkUp = false
				m.Process.Peers[id] = p
			}
		}
		if ids[m.Process.PrimaryID] {
			m.Process.LinkUp = false
		}
	}
}

// synced says that all replicas are in sync.
func synced(s topology.Snapshot) topology.Snapshot {
	offset := map[string]int64{}
	for _, m := range s.Members {
		if m.Process != nil {
			offset[m.Process.ID] = m.Process.Offset
		}
	}
	return lie(s, func(m *topology.Member) {
		if m.Process != nil && !m.Process.Primary {
			m.Process.LinkUp, m.Process.Syncing, m.Process.ClusterOK = true, false, true
			m.Process.Offset = offset[m.Process.PrimaryID]
		}
	})
}

// only keeps the actions that are, or are not, of one type.
func only[T topology.Action](as []topology.Action, want bool) []topology.Action {
	var out []topology.Action
	for _, a := range as {
		if _, ok := a.(T); ok == want {
			out = append(out, a)
		}
	}
	return out
}

// swap takes the actions of one type from a plan made for another snapshot.
func swap[T topology.Action](g topology.Goal, s, lied topology.Snapshot) topology.Plan {
	p, q := topology.Next(g, s), topology.Next(g, lied)
	p.Actions = append(only[T](p.Actions, false), only[T](q.Actions, true)...)
	return p
}

// edit changes the actions of a plan.
func edit(g topology.Goal, s topology.Snapshot, f func(a topology.Action) []topology.Action) topology.Plan {
	p := topology.Next(g, s)
	var out []topology.Action
	for _, a := range p.Actions {
		out = append(out, f(a)...)
	}
	p.Actions = out
	return p
}

// dead takes members for dead.
func dead(s topology.Snapshot, which func(m *topology.Member) bool) topology.Snapshot {
	ids := map[string]bool{}
	out := lie(s, func(m *topology.Member) {
		if m.ID != "" && which(m) {
			ids[m.ID] = true
			m.Pod, m.Process, m.PodAge = topology.PodDead, nil, time.Hour
		}
	})
	cutLinks(out, ids)
	return out
}

// TestMutations plants bugs into the planner and checks that the simulation
// finds each of them. The planner without them passes the same seeds.
func TestMutations(t *testing.T) {
	cases := map[string]struct {
		reason string
		plan   Planner
		want   string
		// from is the first seed to try, for bugs that show seldom.
		from uint64
	}{
		"ForceInsteadOfDefault": {
			reason: "A failover of a live primary must be the default one.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return edit(g, s, func(a topology.Action) []topology.Action {
					if f, ok := a.(topology.Failover); ok && f.Mode == topology.FailoverDefault {
						f.Mode = topology.FailoverForce
						a = f
					}
					return []topology.Action{a}
				})
			},
			want: "is ordered although",
		},
		"RetireBeforeSync": {
			reason: "A member is retired only when its successors are in sync.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return swap[topology.Retire](g, s, synced(s))
			},
			want: "copies left",
		},
		"HandOverToUnsynced": {
			reason: "Only a replica in sync may take over.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return swap[topology.Failover](g, s, synced(s))
			},
			want: "not",
		},
		"NoGrace": {
			reason: "A former primary stays a replica for a while.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return topology.Next(g, lie(s, func(m *topology.Member) { m.RoleAge = time.Hour }))
			},
			want: "after its role changed",
		},
		"RetireWithFailover": {
			reason: "A primary is not retired while it has slots.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return edit(g, s, func(a topology.Action) []topology.Action {
					if f, ok := a.(topology.Failover); ok {
						return []topology.Action{a, topology.Retire{Node: f.Old}}
					}
					return []topology.Action{a}
				})
			},
			want: "is retired although it lives and owns slots",
		},
		"ForgetBeforeStop": {
			reason: "A node that lives comes back after it was forgotten.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return swap[topology.Forget](g, s, dead(s, func(m *topology.Member) bool { return m.Retired }))
			},
			want: "is forgotten by",
		},
		"MeetWithoutRecordedID": {
			reason: "A member is only introduced under its recorded id.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return topology.Next(g, lie(s, func(m *topology.Member) {
					if m.Process != nil && m.ID == "" {
						m.ID = m.Process.ID
					}
				}))
			},
			want: "meet of",
		},
		"TwoFailovers": {
			reason: "A shard has one failover at a time.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return edit(g, s, func(a topology.Action) []topology.Action {
					f, ok := a.(topology.Failover)
					if !ok {
						return []topology.Action{a}
					}
					out := []topology.Action{a}
					for _, m := range s.Members {
						if m.Shard == f.Shard && m.Name != f.Node && m.Process != nil && !m.Process.Primary {
							f.Node = m.Name
							out = append(out, f)
						}
					}
					return out
				})
			},
			want: "two failovers in shard",
		},
		"FailOverBackAndForth": {
			reason: "A roll needs one failover of each shard.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				p := topology.Next(g, s)
				for _, m := range s.Members {
					if q := m.Process; q != nil && !q.Primary && q.LinkUp && q.ClusterOK && m.Phase == topology.PhaseActive && m.RoleAge > 5*time.Second && m.Outdated != "" {
						p.Actions = append(p.Actions, topology.Failover{Node: m.Name, Mode: topology.FailoverDefault, Shard: m.Shard})
					}
				}
				return p
			},
			want: "failovers",
		},
		"AssignWhatSomebodyOwns": {
			reason: "Slots of a member that does not answer are not free.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				silent := map[string]bool{}
				lied := lie(s, func(m *topology.Member) {
					if m.Process == nil && m.ID != "" {
						silent[m.ID] = true
						m.ID = ""
					}
				})
				for _, m := range lied.Members {
					for id := range silent {
						if m.Process != nil {
							delete(m.Process.Peers, id)
						}
					}
				}
				return swap[topology.AddSlots](g, s, lied)
			},
			want: "are assigned to",
			from: 15,
		},
		"PodDeadIsDead": {
			reason: "A pod that is gone from the API may still run.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return topology.Next(g, dead(s, func(m *topology.Member) bool { return m.Pod == topology.PodDead }))
			},
			want: "although",
		},
		"SilentIsDead": {
			reason: "A primary that hangs is never failed over by force.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return swap[topology.Failover](g, s, dead(s, func(m *topology.Member) bool { return m.Process == nil }))
			},
			want: "is ordered although",
		},
		"RefusedIsDead": {
			reason: "A refused connection alone is not a sign of death.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return swap[topology.Failover](g, s, dead(s, func(m *topology.Member) bool { return m.Process == nil && m.Refused }))
			},
			want: "is ordered although",
		},
		"NoBudget": {
			reason: "Only some shards roll at once.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				p := topology.Next(g, s)
				for i := range g.Shards {
					q := topology.Next(g, lie(s, func(m *topology.Member) {
						if m.Shard != i {
							m.Outdated = ""
						}
					}))
					p.Actions = append(p.Actions, only[topology.CreateNode](q.Actions, true)...)
				}
				return p
			},
			want: "start to roll at once",
		},
		"DeadIsPresent": {
			reason: "A dead member is replaced.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return topology.Next(g, lie(s, func(m *topology.Member) {
					if m.Pod == topology.PodDead && !m.Retired {
						m.Pod = topology.PodRunning
					}
				}))
			},
			want: "does not converge",
		},
		"CloseOpenSlots": {
			reason: "An interrupted move goes on, some keys may have moved.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return edit(g, s, func(a topology.Action) []topology.Action {
					v, ok := a.(topology.MoveSlots)
					if !ok || len(v.Slots) > 3 {
						return []topology.Action{a}
					}
					var out []topology.Action
					for _, slot := range v.Slots {
						out = append(out, topology.CloseSlot{Node: v.From, Slot: slot}, topology.CloseSlot{Node: v.To, Slot: slot})
					}
					return out
				})
			},
			want: "acknowledged",
			from: 30,
		},
		"CordonIgnored": {
			reason: "Members leave a host that is cordoned.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return topology.Next(g, lie(s, func(m *topology.Member) {
					if strings.Contains(m.Outdated, "cordoned") {
						m.Outdated = ""
					}
				}))
			},
			want: "is cordoned",
		},
		"CordonedLeaveAtOnce": {
			reason: "A member stays on its cordoned host until its replacement is in sync.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				p := topology.Next(g, s)
				for _, m := range s.Members {
					if strings.Contains(m.Outdated, "cordoned") && m.Process != nil && !m.Process.Primary && !m.Retired {
						p.Actions = append(p.Actions, topology.Retire{Node: m.Name})
					}
				}
				return p
			},
			want: "copies left",
		},
		"LostHostIsDead": {
			reason: "A host that does not report may live, cut off: what its members own is not given away.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return topology.Next(g, dead(s, func(m *topology.Member) bool { return m.HostLost }))
			},
			want: "although",
		},
		"LostHostIsFine": {
			reason: "The members of a host that never comes back are replaced.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return topology.Next(g, lie(s, func(m *topology.Member) { m.HostLost = false }))
			},
			want: "does not converge",
		},
		"BalanceIgnored": {
			reason: "Primaries are spread over zones and hosts before a cluster is at rest.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				p := topology.Next(g, s)
				if p.Rest > 0 || p.Reason == topology.ReasonBalancing {
					p.Actions, p.Converged, p.Rest = nil, true, 0
				}
				return p
			},
			want: "converged although primary",
		},
		"BalanceDuringRoll": {
			reason: "Primaries are only moved for balance while nothing else is to be done.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				return swap[topology.Failover](g, s, lie(s, func(m *topology.Member) {
					m.Outdated, m.RoleAge = "", time.Hour
					if m.Process != nil && m.Process.Primary {
						m.Zone = "crowded"
					}
				}))
			},
			want: "is not at rest",
			from: 15,
		},
		"BalanceForNothing": {
			reason: "A failover for balance must spread the primaries better.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				p := topology.Next(g, s)
				for _, m := range s.Members {
					if q := m.Process; p.Converged && q != nil && !q.Primary && m.RoleAge > 30*time.Second {
						for _, o := range s.Members {
							if o.ID == q.PrimaryID {
								p.Actions = []topology.Action{topology.Failover{Node: m.Name, Old: o.Name, Mode: topology.FailoverDefault, Shard: m.Shard, Balance: true}}
							}
						}
					}
				}
				return p
			},
			want: "no better",
		},
		"SurplusSurge": {
			reason: "No more members are made than are missing.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				bigger := g
				bigger.Replicas++
				p, q := topology.Next(g, s), topology.Next(bigger, s)
				p.Actions = append(only[topology.CreateNode](p.Actions, false), only[topology.CreateNode](q.Actions, true)...)
				return p
			},
			want: "is made although",
		},
		"Flapping": {
			reason: "A cluster at rest has an empty plan.",
			plan: func(g topology.Goal, s topology.Snapshot) topology.Plan {
				p := topology.Next(g, s)
				if p.Converged && s.Members[0].PodAge > time.Minute {
					p.Actions = append(p.Actions, topology.SetPhase{Node: s.Members[0].Name, Phase: topology.PhaseActive})
				}
				return p
			},
			want: "has work again",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := tc.from; seed <= tc.from+120; seed++ {
				s := New(seed, tc.plan)
				s.Run(300)
				if len(s.Violations) == 0 {
					continue
				}
				if strings.Contains(s.Violations[0], tc.want) {
					t.Logf("found by seed %d: %.120s", seed, s.Violations[0])
					return
				}
			}
			t.Errorf("%s\nthe simulation did not find the planted bug (want a violation with %q)", tc.reason, tc.want)
		})
	}
}
