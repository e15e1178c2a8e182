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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHostLost is about members on hosts that Kubernetes does not hear of.
func TestSecondPrimary(t *testing.T) {
	second := func(f *fixture) *fixture {
		return f.with("0a", func(m *Member) { m.Process.Slots.Subtract(new(NewSlotSet(SlotRange{0, 9}))) }).
			with("0b", func(m *Member) {
				m.Process.Primary, m.Process.PrimaryID, m.Process.Slots, m.Process.Epoch = true, "", NewSlotSet(SlotRange{0, 9}), 9
			})
	}
	testPlans(t, map[string]planCase{
		"Reunited": {
			reason: "Two replicas that were elected for a part each give the shard one primary again (simulation, seed 2845).",
			goal:   goalOf(2, 1), snap: second(formed(2, 1)),
			want: []Action{Tune{Node: "0a", NodeTimeout: 5 * time.Second}, MigrateSlots{From: "0b", To: "0a", FromID: "id-0b", ToID: "id-0a", Ranges: []SlotRange{{0, 9}}, KeysHint: 500}},
		},
		"Contested": {
			reason: "Of two that claim the same slots one has not heard of the other; Valkey settles that (simulation, seed 2282).",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("0b", func(m *Member) {
				m.Process.Primary, m.Process.PrimaryID, m.Process.Slots, m.Process.Epoch = true, "", NewSlotSet(SlotRange{0, 9}), 9
			}).with("1a", func(m *Member) { m.Process.Epoch = 20 }).view(func(by, of string, p *Peer) bool {
				if by == "1b" && of == "1a" {
					p.Slots = append([]SlotRange{{0, 9}}, p.Slots...)
				}
				return true
			}),
			want: []Action{Tune{Node: "0a", NodeTimeout: 5 * time.Second}},
		},
	})
}

func TestHostLost(t *testing.T) {
	hostLost := func(m *Member) { m.Host, m.HostLost = "n3", true }
	evicted := func(m *Member) { m.Host, m.HostLost, m.PodDeleting = "n3", true, true }
	testPlans(t, map[string]planCase{
		"Replica": {
			reason: "That neither Kubernetes nor a member hears of it is enough to replace it.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1b").with("1b", hostLost),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1b is lost: its node n3 does not report"}},
		},
		"ReplicaAnswers": {
			reason: "A node that does not report may run its pods all the same.",
			goal:   goalOf(3, 1), snap: formed(3, 1).with("1b", hostLost),
		},
		"ReplicaIsHeard": {
			reason: "Only we may be cut off.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1b").with("1b", hostLost).view(linkedTo("1b")),
		},
		"Replaced": {
			reason: "It goes once another one has its place.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1b").with("1b", hostLost).add(active(joining("1x", 1, "id-1a"))),
			want: []Action{Retire{Node: "1b", Why: "1b is lost: its node n3 does not report"}},
		},
		"NotReplacedYet": {
			reason: "It may come back until then.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1b").with("1b", hostLost).add(joining("1x", 1, "id-1a")).
				with("1x", func(m *Member) { m.Process.LinkUp, m.Process.Syncing = false, true }),
			want: []Action{Tune{Node: "1a", NodeTimeout: 5 * time.Second}},
		},
		"Back": {
			reason: "One that comes back before it was replaced stays.",
			goal:   goalOf(3, 1), snap: formed(3, 1).with("1b", hostLost).add(pending("1x", 1)),
			want: []Action{SetPhase{Node: "1x", Phase: PhaseLeaving}},
		},
		"Primary": {
			reason: "A lost primary may live, cut off: its failover is left to Valkey.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1a").with("1a", hostLost),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1a is lost: its node n3 does not report"}},
		},
		"PrimaryEvicted": {
			reason: "One whose pod is being deleted there is dead: the node ends it when it comes back.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1a").with("1a", evicted),
			want: []Action{
				Failover{Node: "1b", Mode: FailoverForce, Shard: 1, Old: "1a", Why: "its primary is dead"},
				CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"},
			},
		},
		"PrimaryEvictedButHeard": {
			reason: "As long as a member hears of it it lives.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1a").with("1a", evicted).view(linkedTo("1a")),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"}},
		},
		"OnlyCopy": {
			reason: "The slots of a lost primary without replicas are not given away while it may come back.",
			goal:   goalOf(3, 0), snap: formed(3, 0).lose("1a").with("1a", hostLost).add(fresh("1x", 1)),
		},
		"OnlyCopyEvicted": {
			reason: "Once its pod is being deleted there a fresh primary gets them.",
			goal:   goalOf(3, 0), snap: formed(3, 0).lose("1a").with("1a", evicted).add(fresh("1x", 1)),
			want: everywhere("1a", "0a", "1x", "2a"),
		},
		"NobodyIsLeft": {
			reason: "Where nobody answers, only we may be cut off.",
			goal:   goalOf(1, 0), snap: formed(1, 0).lose("0a").with("0a", hostLost),
		},
		"NeverRan": {
			reason: "A pod that a node got before it was lost is replaced at once.",
			goal:   goalOf(2, 1), snap: formed(2, 0).add(pending("0b", 0)).with("0b", hostLost).add(active(joining("1b", 1, "id-1a"))),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "0b is lost: its node n3 does not report"},
				Retire{Node: "0b", Why: "it is not needed and never joined"},
			},
		},
	})
}

func TestHeal(t *testing.T) {
	testPlans(t, map[string]planCase{
		"Healthy": {
			reason: "A healthy cluster needs nothing.",
			goal:   goalOf(3, 1), snap: formed(3, 1),
		},
		"ReplicaDies": {
			reason: "A dead replica is replaced in its own shard.",
			goal:   goalOf(3, 1), snap: formed(3, 1).crash("1b"),
			want: []Action{
				CreateNode{Name: "n1-0", Shard: 1, Why: "1b is dead"},
				Retire{Node: "1b", Why: "it is dead"},
			},
		},
		"PrimaryDiesWithQuorum": {
			reason: "A primary that is known to be dead needs no node timeout.",
			goal:   goalOf(3, 1), snap: formed(3, 1).crash("1a"),
			want: []Action{
				Failover{Node: "1b", Mode: FailoverForce, Shard: 1, Old: "1a", Why: "its primary is dead"},
				CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"},
			},
		},
		"PrimaryRefusesAtOnce": {
			reason: "That connections are refused and no other member has a link is two signs, before Kubernetes knows.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1a").with("1a", func(m *Member) { m.Refused = true }),
			want: []Action{
				Failover{Node: "1b", Mode: FailoverForce, Shard: 1, Old: "1a", Why: "its primary is dead"},
			},
		},
		"PrimaryRefusesOnlyUs": {
			reason: "A refused connection may come from a firewall.",
			goal:   goalOf(3, 1),
			snap: formed(3, 1).lose("1a").with("1a", func(m *Member) { m.Refused = true }).
				view(linkedTo("1a")),
		},
		"PrimaryHangs": {
			reason: "A primary that merely does not answer is left to Valkey's own failover.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1a"),
		},
		"PodDeadButLinked": {
			reason: "A pod that was deleted by force may still run for a while.",
			goal:   goalOf(3, 1),
			snap: formed(3, 1).crash("1a").
				view(linkedTo("1a")),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"}},
		},
		"PodDeadButAnswers": {
			reason: "A process that answers is not dead, whatever Kubernetes says.",
			goal:   goalOf(3, 1), snap: formed(3, 1).with("1a", func(m *Member) { m.Pod = PodDead }),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"}},
		},
		"PrimaryDiesWithoutQuorum": {
			reason: "Without a majority only a takeover helps, onto the replica with most data.",
			goal:   goalOf(3, 2),
			snap:   formed(3, 2).crash("1a", "2a").with("1c", func(m *Member) { m.Process.Offset = 2000 }),
			want: []Action{
				Failover{Node: "1c", Mode: FailoverTakeover, Shard: 1, Old: "1a", Why: "its primary is dead and a majority of the primaries is lost"},
				Failover{Node: "2b", Mode: FailoverTakeover, Shard: 2, Old: "2a", Why: "its primary is dead and a majority of the primaries is lost"},
				CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"},
				CreateNode{Name: "n2-0", Shard: 2, Why: "2a is dead"},
			},
		},
		"PrimaryDiesWithoutReplica": {
			reason: "Its slots wait for a fresh member of its shard.",
			goal:   goalOf(3, 0), snap: formed(3, 0).crash("1a"),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"}},
		},
		"FreshMemberIsThere": {
			reason: "The lost primary is forgotten, which frees its slots.",
			goal:   goalOf(3, 0), snap: formed(3, 0).crash("1a").add(fresh("1x", 1)),
			want: everywhere("1a", "0a", "1x", "2a"),
		},
		"FreshMemberGetsTheSlots": {
			reason: "Slots that nobody has go to the shard that has none.",
			goal:   goalOf(3, 0),
			snap:   formed(3, 0).crash("1a").add(fresh("1x", 1)).strangers("1a"),
			want: []Action{
				AddSlots{Node: "1x", Ranges: []SlotRange{{5461, 10921}}, Bump: true},
				Retire{Node: "1a", Why: "it is dead"},
			},
		},
		"SlotsLookBusy": {
			reason: "A member that takes free slots for somebody else's has to take them.",
			goal:   goalOf(3, 0),
			snap: formed(3, 0).crash("1a").add(fresh("1x", 1)).strangers("1a").view(func(by, of string, p *Peer) bool {
				if by == "1x" && of == "2a" {
					p.Slots = []SlotRange{{5461, 16383}}
				}
				return true
			}),
			want: []Action{
				AddSlots{Node: "1x", Ranges: []SlotRange{{5461, 10921}}, Bump: true, Take: true},
				Retire{Node: "1a", Why: "it is dead"},
			},
		},
		"LastCopyHangs": {
			reason: "A replica that does not answer may hold the only copy: nothing is given away.",
			goal:   goalOf(3, 1), snap: formed(3, 1).crash("1a").lose("1b").add(fresh("1x", 1)),
		},
		"SlotsOfASilentMember": {
			reason: "Newcomers know nothing of the slots of a primary that does not answer (simulation, seed 4).",
			goal:   goalOf(1, 0), snap: formed(1, 0).lose("0a").add(fresh("0x", 0)).strangers("0x"),
		},
		"AllPodsAtOnce": {
			reason: "When all is lost a new cluster is made.",
			goal:   goalOf(2, 1), snap: formed(2, 1).crash("0a", "0b", "1a", "1b"),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "0a is dead"},
				CreateNode{Name: "n0-1", Shard: 0, Why: "0a is dead"},
				CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"},
				CreateNode{Name: "n1-1", Shard: 1, Why: "1a is dead"},
				Retire{Node: "0a", Why: "it is dead"},
				Retire{Node: "0b", Why: "it is dead"},
				Retire{Node: "1a", Why: "it is dead"},
				Retire{Node: "1b", Why: "it is dead"},
			},
		},
		"OtherIdentity": {
			reason: "A process that comes back under another id is not used, its replica takes over at once.",
			goal:   goalOf(3, 1), snap: formed(3, 1).with("1a", func(m *Member) {
				p := *m.Process
				p.ID, p.Slots = "id-other", SlotSet{}
				m.Process = &p
			}).view(func(by, of string, p *Peer) bool {
				if of == "1a" {
					p.Slots, p.Fail, p.LinkUp = []SlotRange{{5461, 10921}}, true, false
				}
				return by != "1a"
			}),
			want: []Action{
				Failover{Node: "1b", Mode: FailoverForce, Shard: 1, Old: "1a", Why: "its primary is dead"},
				CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"},
			},
		},
		"BetterReplicaIsWaitedFor": {
			reason: "Just after a death a replica that does not answer may have more data (simulation, seed 125).",
			goal:   goalOf(3, 2), snap: formed(3, 2).crash("1a").with("1a", func(m *Member) { m.PodAge = time.Second }).lose("1c"),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1a is dead"}},
		},
		"RecordOfPrimaryIsGone": {
			reason: "A replica leads back to the slots of a primary that is no member any more.",
			goal:   goalOf(3, 0),
			snap: formed(3, 1).crash("1a").with("1a", func(m *Member) { m.Shard, m.ID = 9, "id-1a" }).with("0b", retired).
				with("2b", retired).with("1a", func(m *Member) { m.Retired = true }),
			want: []Action{Failover{Node: "1b", Mode: FailoverForce, Shard: 1, Old: "1a", Why: "its primary is dead"}},
		},
		"LeftoverSlots": {
			reason: "Slots that came just before a primary's death go to its successor (simulation, seed 6).",
			goal:   goalOf(3, 0),
			snap: formed(3, 1).with("0b", retired).with("2b", retired).crash("1a").with("1b", func(m *Member) {
				m.Process.Primary, m.Process.PrimaryID, m.Process.LinkUp = true, "", false
				m.Process.Slots = NewSlotSet(SlotRange{5461, 10900})
			}),
			want: []Action{
				AddSlots{Node: "1b", Ranges: []SlotRange{{10901, 10921}}, Bump: true, Take: true},
			},
		},
		"OldPrimaryReturns": {
			reason: "A primary that comes back after its replica took over follows that one.",
			goal:   goalOf(3, 1), snap: formed(3, 1).handedOver("1a", "1b", time.Minute).with("1a", func(m *Member) {
				m.Process.Primary, m.Process.PrimaryID, m.Process.LinkUp, m.Process.Keys = true, "", false, 0
			}),
			want: []Action{
				Tune{Node: "1b", NodeTimeout: 5 * time.Second},
				Replicate{Node: "1a", Primary: "1b", PrimaryID: "id-1b"},
			},
		},
		"PodNeverEnds": {
			reason: "A member on a lost node is replaced although its pod stays there for ever.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1b").with("1b", func(m *Member) { m.PodDeleting = true }),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1b leaves"}},
		},
		"OthersGoOn": {
			reason: "A shard without a primary does not keep others from being healed.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1a").lose("1b").crash("2b"),
			want: []Action{
				CreateNode{Name: "n2-0", Shard: 2, Why: "2b is dead"},
				Retire{Node: "2b", Why: "it is dead"},
			},
		},
		"OtherPrimariesGoOn": {
			reason: "Nor from getting a primary of their own.",
			goal:   goalOf(4, 1), snap: formed(4, 1).lose("1a").lose("1b").crash("2a"),
			want: []Action{
				Failover{Node: "2b", Mode: FailoverTakeover, Shard: 2, Old: "2a", Why: "its primary is dead and a majority of the primaries is lost"},
				CreateNode{Name: "n2-0", Shard: 2, Why: "2a is dead"},
			},
		},
		"ClaimNotBelieved": {
			reason: "A slot moved, but the former owner has the greater epoch (simulation, seed 806).",
			goal:   goalOf(3, 0), snap: formed(3, 0).with("1a", func(m *Member) { m.Process.Slots.Add(16383) }).
				with("2a", func(m *Member) { m.Process.Slots.Remove(16383) }).view(func(by, of string, p *Peer) bool {
				if by == "0a" && of == "2a" {
					p.Slots = []SlotRange{{10922, 16383}}
				}
				if by == "0a" && of == "1a" {
					p.Slots = []SlotRange{{5461, 10921}}
				}
				return true
			}),
			want: []Action{BumpEpoch{Node: "1a"}},
		},
	})
}

// retired releases a member whose pod is gone and that nobody knows any more.
func retired(m *Member) { m.Retired, m.Pod, m.Process = true, PodDead, nil }

func TestForeign(t *testing.T) {
	f := formed(3, 0)
	s := f.with("1a", func(m *Member) { m.Process.Slots.Remove(10921) }).snapshot()
	for _, m := range s.Members {
		m.Process.Peers["id-foreign"] = Peer{IP: "10.9.9.9", Primary: true, LinkUp: true, Slots: []SlotRange{{10921, 10921}}}
	}
	p := Next(goalOf(3, 0), s)
	want := []string{"node id-foreign is not a member of this cluster but owns slots 10921 in its view; remove it by hand with CLUSTER FORGET once its data is safe"}
	if diff := cmp.Diff(want, p.Problems); diff != "" {
		t.Errorf("A foreign node with slots is reported.\nNext(...): -want, +got problems:\n%s", diff)
	}
	if diff := cmp.Diff([]Action(nil), p.Actions); diff != "" {
		t.Errorf("A foreign node with slots is not forgotten.\nNext(...): -want, +got actions:\n%s", diff)
	}
	if p.Converged {
		t.Errorf("A cluster with a foreign node is not converged.")
	}
}

// linkedTo makes all members see a working link to one that does not answer.
func linkedTo(name string) func(string, string, *Peer) bool {
	return func(_, of string, p *Peer) bool {
		if of == name {
			p.LinkUp, p.Fail = true, false
		}
		return true
	}
}
