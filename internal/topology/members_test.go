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
)

func TestMembers(t *testing.T) {
	testPlans(t, map[string]planCase{
		"NothingThere": {
			reason: "All members of a bootstrap are made at once.",
			goal:   goalOf(2, 1), snap: &fixture{},
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "the shard needs 2 members"},
				CreateNode{Name: "n0-1", Shard: 0, Why: "the shard needs 2 members"},
				CreateNode{Name: "n1-0", Shard: 1, Why: "the shard needs 2 members"},
				CreateNode{Name: "n1-1", Shard: 1, Why: "the shard needs 2 members"},
			},
		},
		"SomeMade": {
			reason: "After a crash in the middle only the missing ones are made.",
			goal:   goalOf(2, 1),
			snap:   (&fixture{}).add(pending("n0-1", 0)).add(pending("n1-0", 1)),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "the shard needs 2 members"},
				CreateNode{Name: "n1-1", Shard: 1, Why: "the shard needs 2 members"},
			},
		},
		"IDNotRecorded": {
			reason: "A member is not used before its id was recorded.",
			goal:   goalOf(1, 0), snap: (&fixture{}).add(unrecorded("n0-0", 0)),
		},
		"FirstAssignment": {
			reason: "Slots are assigned in even ranges, with distinct epochs, together with the introductions.",
			goal:   goalOf(2, 0),
			snap:   (&fixture{}).add(fresh("0a", 0)).add(fresh("1a", 1)).strangers("0a", "1a"),
			want: []Action{
				Tune{Node: "0a", NodeTimeout: 500 * time.Millisecond},
				Tune{Node: "1a", NodeTimeout: 500 * time.Millisecond},
				AddSlots{Node: "0a", Ranges: []SlotRange{{0, 8191}}, Epoch: 1},
				AddSlots{Node: "1a", Ranges: []SlotRange{{8192, 16383}}, Epoch: 2},
				Meet{From: "0a", To: "1a", ToID: "id-1a", ToIP: "10.0.0.1a"},
			},
		},
		"HalfAssigned": {
			reason: "After a crash in the middle the rest goes to the shard without slots.",
			goal:   goalOf(2, 0),
			snap: formed(2, 0).all(forming).with("1a", func(m *Member) { m.Process.Slots, m.Process.Epoch = SlotSet{}, 0 }).
				strangers("0a", "1a"),
			want: []Action{
				AddSlots{Node: "1a", Ranges: []SlotRange{{8192, 16383}}, Epoch: 2},
				Meet{From: "0a", To: "1a", ToID: "id-1a", ToIP: "10.0.0.1a"},
			},
		},
		"ReplicaNotThereYet": {
			reason: "Primaries are chosen when all members run, so that they can be spread.",
			goal:   goalOf(1, 1), snap: (&fixture{}).add(young(fresh("0a", 0))).add(pending("0b", 0)),
			want: []Action{Tune{Node: "0a", NodeTimeout: 500 * time.Millisecond}},
		},
		"NobodyFollowsBeforeTheChoice": {
			reason: "A member that follows can lead no more, which would narrow the choice of primaries.",
			goal:   goalOf(2, 1),
			snap: (&fixture{}).add(young(fresh("0a", 0))).add(young(fresh("0b", 0))).add(young(fresh("1a", 1))).add(pending("1b", 1)).all(func(m *Member) {
				if m.Process != nil {
					m.Process.NodeTimeout, m.Process.SyncDelay = 500*time.Millisecond, 0
				}
			}),
		},
		"FollowedWithTheChoice": {
			reason: "Replicas follow in the pass that assigns the slots: nothing is left to wait for.",
			goal:   goalOf(1, 1), snap: (&fixture{}).add(fresh("0a", 0)).add(fresh("0b", 0)),
			want: []Action{
				Tune{Node: "0a", NodeTimeout: 500 * time.Millisecond},
				Tune{Node: "0b", NodeTimeout: 500 * time.Millisecond},
				AddSlots{Node: "0a", Ranges: []SlotRange{{0, 16383}}},
				Replicate{Node: "0b", Primary: "0a", PrimaryID: "id-0a"},
			},
		},
		"ReplicaNeverStarts": {
			reason: "A member that cannot start does not keep the others from serving for ever.",
			goal:   goalOf(1, 1), snap: (&fixture{}).add(fresh("0a", 0)).add(pending("0b", 0)),
			want: []Action{
				Tune{Node: "0a", NodeTimeout: 500 * time.Millisecond},
				AddSlots{Node: "0a", Ranges: []SlotRange{{0, 16383}}, Epoch: 1},
			},
		},
		"FormedTimersGoBack": {
			reason: "Low timers do not outlive the bootstrap.",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(forming),
			want: []Action{Tune{Node: "0a", NodeTimeout: 5 * time.Second, SyncDelay: 5 * time.Second}},
		},
		"FormedIsRecorded": {
			reason: "Members become Active when the cluster has formed.",
			goal:   goalOf(1, 1), snap: formed(1, 1).all(func(m *Member) { m.Phase = PhaseJoining }),
			want: []Action{SetPhase{Node: "0a", Phase: PhaseActive}, SetPhase{Node: "0b", Phase: PhaseActive}},
		},
		"TimersLeftBehind": {
			reason: "A low timeout that a crash left behind is set back.",
			goal:   goalOf(3, 0), snap: formed(3, 0).with("2a", func(m *Member) { m.Process.NodeTimeout = 500 * time.Millisecond }),
			want: []Action{Tune{Node: "2a", NodeTimeout: 5 * time.Second, SyncDelay: 5 * time.Second}},
		},
		"SyncedPrimaryWaitsAgain": {
			reason: "A primary whose members are all in sync has its normal sync delay.",
			goal:   goalOf(1, 1), snap: formed(1, 1).with("0a", func(m *Member) { m.Process.SyncDelay = 0 }),
			want: []Action{Tune{Node: "0a", NodeTimeout: 5 * time.Second, SyncDelay: 5 * time.Second}},
		},
		"NewReplica": {
			reason: "A newcomer is introduced by its recorded id.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("1b", func(m *Member) { *m = fresh("1b", 1) }).strangers("1b"),
			want: []Action{hurry("1a"), Meet{From: "0a", To: "1b", ToID: "id-1b", ToIP: "10.0.0.1b"}},
		},
		"NewReplicaShakesHands": {
			reason: "It is introduced once.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("1b", func(m *Member) { *m = fresh("1b", 1) }).
				view(func(by, of string, p *Peer) bool {
					if of == "1b" {
						p.Handshake = true
					}
					return by != "1b"
				}),
			want: []Action{hurry("1a")},
		},
		"NewReplicaFollows": {
			reason: "A member that knows its primary follows it.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("1b", func(m *Member) { *m = fresh("1b", 1) }),
			want: []Action{hurry("1a"), Replicate{Node: "1b", Primary: "1a", PrimaryID: "id-1a"}},
		},
		"FirstMemberIsGone": {
			reason: "Any healthy member introduces a newcomer, no one is special.",
			goal:   goalOf(2, 1),
			snap:   formed(2, 1).lose("0a").lose("0b").with("1b", func(m *Member) { *m = fresh("1b", 1) }).strangers("1b"),
			want: []Action{
				Tune{Node: "1a", NodeTimeout: 5 * time.Second},
				Meet{From: "1a", To: "1b", ToID: "id-1b", ToIP: "10.0.0.1b"},
			},
		},
		"ReplicaThatLeads": {
			reason: "A member that leads without slots or keys follows the primary of its shard again.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("1b", func(m *Member) {
				m.Process.Primary, m.Process.PrimaryID, m.Process.Keys = true, "", 0
			}),
			want: []Action{
				Tune{Node: "1a", NodeTimeout: 5 * time.Second},
				Replicate{Node: "1b", Primary: "1a", PrimaryID: "id-1a"},
			},
		},
		"WithoutAddress": {
			reason: "A member of a shard that goes and has no address yet gets no commands.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(pending("1a", 1)),
			want: []Action{
				SetPhase{Node: "1a", Phase: PhaseLeaving},
			},
		},
		"NotOnTheList": {
			reason: "A node that runs and is on no list may have been made a moment ago: it is not forgotten.",
			goal:   goalOf(2, 0), snap: formed(2, 0).add(fresh("0x", 0)).unlist("0x"),
		},
		"OneStillKnows": {
			reason: "A node that is gone is forgotten by the one that did not answer when all others did so.",
			goal:   goalOf(3, 0), snap: formed(3, 0).add(fresh("0x", 0)).crash("0x").unlist("0x").
				view(func(by, of string, _ *Peer) bool { return of != "0x" || by == "1a" }),
			want: []Action{Forget{Node: "1a", ID: "id-0x"}},
		},
		"PrimaryOfAReplica": {
			reason: "A replica cannot forget its primary: it gets another one first, while all others forget.",
			goal:   goalOf(2, 1), snap: formed(2, 1).add(fresh("1x", 1)).crash("1x").unlist("1x").
				with("1b", func(m *Member) { follow(m, "id-1x") }),
			want: []Action{
				Tune{Node: "1a", NodeTimeout: 5 * time.Second},
				Replicate{Node: "1b", Primary: "1a", PrimaryID: "id-1a"},
				Forget{Node: "0a", ID: "id-1x"},
				Forget{Node: "0b", ID: "id-1x"},
				Forget{Node: "1a", ID: "id-1x"},
			},
		},
		"ReplicaSyncs": {
			reason: "A replica is not settled before it is in sync.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("1b", func(m *Member) { m.Phase, m.Process.Syncing = PhaseJoining, true }),
		},
		"ReplicaWithKeysOfItsOwn": {
			reason: "A member with keys that nobody else has is not emptied.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("1b", func(m *Member) { m.Process.Primary, m.Process.PrimaryID = true, "" }),
			want: []Action{hurry("1a")},
		},
		"FewerReplicas": {
			reason: "A surplus replica leaves, one that is not in sync rather than another.",
			goal:   goalOf(2, 1), snap: formed(2, 2).with("1b", func(m *Member) { m.Process.LinkUp = false }),
			want: []Action{
				hurry("1a"),
				SetPhase{Node: "0b", Phase: PhaseLeaving},
				SetPhase{Node: "1b", Phase: PhaseLeaving},
			},
		},
		"FewerReplicasWhileOneIsMissed": {
			reason: "Nobody leaves while the others are not in sync.",
			goal:   goalOf(1, 1), snap: formed(1, 2).with("0b", func(m *Member) { m.Process.LinkUp = false }).
				with("0c", func(m *Member) { m.Process.LinkUp = false }),
			want: []Action{hurry("0a")},
		},
		"SilentPrimaryIsNoSurplus": {
			reason: "A primary that does not answer is not the one too many (table of SlotsOfASilentMember).",
			goal:   goalOf(1, 0), snap: formed(1, 0).lose("0a").add(fresh("0x", 0)).strangers("0x"),
		},
		"NewcomerDies": {
			reason: "One that dies before it joined is kept as evidence for a while.",
			goal:   goalOf(1, 1), snap: formed(1, 0).add(died(fresh("0b", 0), 10*time.Second)).strangers("0b"),
		},
		"NewcomerDiedLongAgo": {
			reason: "After a while another one is tried.",
			goal:   goalOf(1, 1), snap: formed(1, 0).add(died(fresh("0b", 0), time.Minute)).strangers("0b"),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "0b is dead"},
				Retire{Node: "0b", Why: "it is dead"},
			},
		},
		"OrphanInShardWithoutSlots": {
			reason: "A replica of a primary that is gone cannot lead a shard without slots (simulation, seed 206).",
			goal:   goalOf(2, 0),
			snap: formed(1, 0).add(func() Member {
				m := fresh("1b", 1)
				follow(&m, "id-gone")
				return m
			}()),
			want: []Action{
				CreateNode{Name: "n1-0", Shard: 1, Why: "the shard needs 1 members"},
				Retire{Node: "1b", Why: "its primary is gone and it has no data"},
			},
		},
		"OutdatedBeforeItEverRan": {
			reason: "A member of an unformed cluster that cannot start is replaced as soon as the template is repaired.",
			goal:   goalOf(1, 0), snap: (&fixture{}).add(func() Member {
				m := pending("0a", 0)
				m.Outdated = "the image differs"
				return m
			}()),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "the shard needs 1 members"},
				Retire{Node: "0a", Why: "it is not needed and never joined"},
			},
		},
		"ShardsAddedWhileForming": {
			reason: "An edit in the middle of a bootstrap is the new target (simulation, seed 276).",
			goal:   goalOf(2, 0), snap: formed(1, 0).all(func(m *Member) { m.Phase = PhaseJoining }).add(fresh("1a", 1)),
			want: []Action{
				MigrateSlots{From: "0a", To: "1a", FromID: "id-0a", ToID: "id-1a", Ranges: []SlotRange{{12288, 16383}}, KeysHint: 4096},
			},
		},
		"ShardsRemovedWhileForming": {
			reason: "A member with slots is introduced even if it is to go (simulation, seed 437).",
			goal:   goalOf(1, 0),
			snap:   formed(2, 0).all(func(m *Member) { m.Phase, m.Process.ClusterOK = PhaseJoining, false }).strangers("1a"),
			want:   []Action{Meet{From: "0a", To: "1a", ToID: "id-1a", ToIP: "10.0.0.1a"}},
		},
	})
}

func pending(name string, shard int) Member {
	m := fresh(name, shard)
	m.ID, m.Pod, m.IP, m.Process = "", PodPending, "", nil
	return m
}

func unrecorded(name string, shard int) Member {
	m := fresh(name, shard)
	m.ID = ""
	return m
}

func young(m Member) Member {
	m.PodAge = time.Second
	return m
}

func died(m Member, ago time.Duration) Member {
	m.Pod, m.PodAge, m.Process = PodDead, ago, nil
	return m
}

func forming(m *Member) {
	m.Phase, m.Process.NodeTimeout, m.Process.SyncDelay = PhaseJoining, 500*time.Millisecond, 0
}
