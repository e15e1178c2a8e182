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

func outdated(m *Member) { m.Outdated = "the image differs" }

func cordoned(m *Member) { m.Outdated = "its node n3 is cordoned" }

// joining returns a member that follows a primary in sync but is not Active yet.
func joining(name string, shard int, primaryID string) Member {
	m := fresh(name, shard)
	m.Process.Offset, m.Process.Keys = 1000, 500
	follow(&m, primaryID)
	return m
}

// handedOver makes one member the primary in the place of another one.
func (f *fixture) handedOver(from, to string, ago time.Duration) *fixture {
	var slots SlotSet
	f.with(from, func(m *Member) {
		slots, m.Process.Slots, m.RoleAge = m.Process.Slots, SlotSet{}, ago
	})
	return f.all(func(m *Member) {
		switch {
		case m.Name == to:
			m.Process.Primary, m.Process.PrimaryID, m.Process.LinkUp, m.Process.Slots, m.RoleAge = true, "", false, slots, ago
			m.Process.Epoch = 100
		case m.Name == from || m.Process.PrimaryID == "id-"+from:
			follow(m, "id-"+to)
		}
	})
}

func TestRoll(t *testing.T) {
	testPlans(t, map[string]planCase{
		"Start": {
			reason: "One shard is rolled at a time, its new members are made at once.",
			goal:   goalOf(3, 1), snap: formed(3, 1).all(outdated),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "0a is outdated: the image differs"},
				CreateNode{Name: "n0-1", Shard: 0, Why: "0a is outdated: the image differs"},
			},
		},
		"LargeCluster": {
			reason: "A tenth of the shards is rolled at once.",
			goal:   goalOf(20, 0), snap: formed(20, 0).all(outdated),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "0a is outdated: the image differs"},
				CreateNode{Name: "n1-0", Shard: 1, Why: "1a is outdated: the image differs"},
			},
		},
		"OnlyReplicasOutdated": {
			reason: "A primary that is up to date is left alone.",
			goal:   goalOf(1, 1), snap: formed(1, 1).with("0b", outdated).add(active(joining("0x", 0, "id-0a"))),
			want: []Action{SetPhase{Node: "0b", Phase: PhaseLeaving}},
		},
		"NoReplicas": {
			reason: "Without replicas the newcomer takes over once it is in sync.",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(outdated).add(joining("0x", 0, "id-0a")),
			want: []Action{
				Failover{Node: "0x", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "0a is outdated: the image differs"},
				SetPhase{Node: "0x", Phase: PhaseActive},
			},
		},
		"TwoReplicas": {
			reason: "All newcomers must be in sync before the one failover.",
			goal:   goalOf(1, 2), snap: formed(1, 2).all(outdated).
				add(active(joining("0x", 0, "id-0a"))).add(active(joining("0y", 0, "id-0a"))).add(active(joining("0z", 0, "id-0a"))),
			want: []Action{
				Failover{Node: "0x", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "0a is outdated: the image differs"},
			},
		},
		"NewcomerSyncs": {
			reason: "Nothing goes while a newcomer is not in sync.",
			goal:   goalOf(1, 1), snap: formed(1, 1).all(outdated).add(active(joining("0x", 0, "id-0a"))).
				add(joining("0y", 0, "id-0a")).with("0y", func(m *Member) { m.Process.LinkUp, m.Process.Syncing = false, true }),
			want: []Action{hurry("0a")},
		},
		"NewcomerLags": {
			reason: "A replica that is far behind is not in sync.",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(outdated).with("0a", func(m *Member) { m.Process.Offset = 10 << 20 }).
				add(active(joining("0x", 0, "id-0a"))),
		},
		"NewcomersClusterStateFail": {
			reason: "A newcomer that was promoted before its own cluster state is ok would answer CLUSTERDOWN.",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(outdated).add(active(joining("0x", 0, "id-0a"))).
				with("0x", func(m *Member) { m.Process.ClusterOK = false }),
		},
		"NewcomerUnknownToOne": {
			reason: "Everybody must know the successor.",
			goal:   goalOf(2, 0), snap: formed(2, 0).with("0a", outdated).add(active(joining("0x", 0, "id-0a"))).
				view(func(by, of string, _ *Peer) bool { return by != "1a" || of != "0x" }),
		},
		"Unschedulable": {
			reason: "A newcomer that cannot start stalls the roll, every serving pod stays.",
			goal:   goalOf(2, 1), snap: formed(2, 1).all(outdated).add(pending("0x", 0)).add(pending("0y", 0)),
		},
		"CrashLooping": {
			reason: "A newcomer that died lately stalls the roll.",
			goal:   goalOf(2, 0), snap: formed(2, 0).all(outdated).add(died(fresh("0x", 0), time.Second)).strangers("0x"),
		},
		"Grace": {
			reason: "The former primary stays for a while, so that clients are redirected.",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(outdated).add(active(joining("0x", 0, "id-0a"))).handedOver("0a", "0x", time.Second),
		},
		"GraceIsOver": {
			reason: "Then it leaves.",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(outdated).add(active(joining("0x", 0, "id-0a"))).handedOver("0a", "0x", 4*time.Second),
			want: []Action{SetPhase{Node: "0a", Phase: PhaseLeaving}},
		},
		"Leaves": {
			reason: "A member that is Leaving is retired.",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(outdated).add(active(joining("0x", 0, "id-0a"))).handedOver("0a", "0x", 4*time.Second).
				with("0a", func(m *Member) { m.Phase = PhaseLeaving }),
			want: []Action{Retire{Node: "0a", Why: "0a is outdated: the image differs"}},
		},
		"RetiredStillRuns": {
			reason: "A retired member is not forgotten while it may run.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(active(joining("0x", 0, "id-0a"))).with("0x", func(m *Member) { m.Retired = true }),
		},
		"RetiredDoesNotAnswer": {
			reason: "That it does not answer does not mean that it stopped.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(active(joining("0x", 0, "id-0a"))).with("0x", func(m *Member) { m.Retired = true }).lose("0x"),
		},
		"RetiredIsGone": {
			reason: "Then everybody forgets it.",
			goal:   goalOf(2, 0), snap: formed(2, 0).add(active(joining("0x", 0, "id-0a"))).with("0x", func(m *Member) { m.Retired = true }).crash("0x"),
			want: everywhere("0x", "0a", "1a"),
		},
		"RevertedBeforeFailover": {
			reason: "A roll that is taken back leaves the healthy members alone.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(joining("0x", 0, "id-0a")).with("0x", outdated),
			want: []Action{SetPhase{Node: "0x", Phase: PhaseLeaving}},
		},
		"RevertedWithMembersSettled": {
			reason: "The newcomer of a roll that was taken back goes, not the primary.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(active(joining("0x", 0, "id-0a"))).with("0x", outdated),
			want: []Action{SetPhase{Node: "0x", Phase: PhaseLeaving}},
		},
		"SlotsFirst": {
			reason: "A roll does not start while slots have to move.",
			goal:   goalOf(2, 0), snap: formed(1, 0).all(outdated).add(fresh("1a", 1)),
			want: []Action{
				MigrateSlots{From: "0a", To: "1a", FromID: "id-0a", ToID: "id-1a", Ranges: []SlotRange{{12288, 16383}}, KeysHint: 4096},
			},
		},
		"CordonedPrimary": {
			reason: "Shards with members on a cordoned node are rolled one at a time, and only those members.",
			goal:   goalOf(3, 1), snap: formed(3, 1).with("1a", cordoned).with("2b", cordoned),
			want: []Action{CreateNode{Name: "n1-0", Shard: 1, Why: "1a is outdated: its node n3 is cordoned"}},
		},
		"CordonedWithoutReplicas": {
			reason: "The only copy hands over before it goes.",
			goal:   goalOf(1, 0), snap: formed(1, 0).with("0a", cordoned).add(active(joining("0x", 0, "id-0a"))),
			want: []Action{
				Failover{Node: "0x", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "0a is outdated: its node n3 is cordoned"},
			},
		},
		"CordonedReplica": {
			reason: "A replica needs no failover.",
			goal:   goalOf(1, 1), snap: formed(1, 1).with("0b", cordoned).add(active(joining("0x", 0, "id-0a"))),
			want: []Action{SetPhase{Node: "0b", Phase: PhaseLeaving}},
		},
		"CordonedWhileAnotherShardRolls": {
			reason: "What has begun is finished first.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("0a", cordoned).with("1a", cordoned).add(active(joining("1x", 1, "id-1a"))),
			want: []Action{
				Failover{Node: "1b", Mode: FailoverDefault, Shard: 1, Old: "1a", Why: "1a is outdated: its node n3 is cordoned"},
			},
		},
		"CordonedEverywhere": {
			reason: "Without a node for the replacement all that serves stays.",
			goal:   goalOf(2, 0), snap: formed(2, 0).all(cordoned).add(pending("0x", 0)),
		},
		"Uncordoned": {
			reason: "Then the replacement is not needed any more.",
			goal:   goalOf(2, 0), snap: formed(2, 0).add(pending("0x", 0)),
			want: []Action{SetPhase{Node: "0x", Phase: PhaseLeaving}},
		},
		"MemberDeleted": {
			reason: "Somebody who deletes a member gets it replaced.",
			goal:   goalOf(2, 0), snap: formed(2, 0).with("0a", func(m *Member) { m.Deleting = true }),
			want: []Action{CreateNode{Name: "n0-0", Shard: 0, Why: "0a leaves"}},
		},
		"PrimaryEvicted": {
			reason: "A pod that is about to stop hands over to any replica in sync.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("0a", func(m *Member) { m.PodDeleting = true }),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "0a leaves"},
				Failover{Node: "0b", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "the pod of 0a is being deleted"},
			},
		},
		"NewcomerOfAnEvictedPrimary": {
			reason: "It follows the heir: who begins to follow the other one now would hang when that hands over.",
			goal:   goalOf(2, 1),
			snap: formed(2, 1).with("0a", func(m *Member) { m.PodDeleting = true }).add(fresh("0x", 0)).
				view(func(by, of string, _ *Peer) bool { return by != "0x" || of != "0b" }),
			want: []Action{
				Tune{Node: "0a", NodeTimeout: 5 * time.Second},
				Failover{Node: "0b", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "the pod of 0a is being deleted"},
			},
		},
		"NewcomerOfAnEvictedOnlyMember": {
			reason: "Without an heir it is the newcomer that has to become one.",
			goal:   goalOf(2, 0), snap: formed(2, 0).with("0a", func(m *Member) { m.PodDeleting = true }).add(fresh("0x", 0)),
			want: []Action{
				Tune{Node: "0a", NodeTimeout: 5 * time.Second},
				Replicate{Node: "0x", Primary: "0a", PrimaryID: "id-0a"},
			},
		},
		"PrimaryEvictedWhileSlotsMove": {
			reason: "It does not wait for a migration.",
			goal:   goalOf(2, 1), snap: formed(2, 1).with("0a", func(m *Member) {
				m.PodDeleting = true
				m.Process.Jobs = []Job{{Export: true, Active: true, SourceID: "id-0a", TargetID: "id-1a"}}
			}),
			want: []Action{
				CreateNode{Name: "n0-0", Shard: 0, Why: "0a leaves"},
				Failover{Node: "0b", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "the pod of 0a is being deleted"},
			},
		},
		"SurplusReplicaAndFailover": {
			reason: "The successor of a failover is not also marked as surplus (simulation, seed 63).",
			goal:   goalOf(1, 0), snap: formed(1, 0).all(outdated).add(active(joining("0x", 0, "id-0a"))).add(active(joining("0y", 0, "id-0a"))),
			want: []Action{
				Failover{Node: "0x", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "0a is outdated: the image differs"},
			},
		},
		"ShardWithoutSlots": {
			reason: "A shard without slots has nothing to hand over: it gets slots first (simulation, seed 54).",
			goal:   goalOf(2, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("1a", outdated),
			want: []Action{
				MigrateSlots{From: "0a", To: "1a", FromID: "id-0a", ToID: "id-1a", Ranges: []SlotRange{{12288, 16383}}, KeysHint: 4096},
			},
		},
		"PrimaryWithoutSlotsDeleted": {
			reason: "A primary without slots cannot hand over: it goes at once (simulation, seed 8696).",
			goal:   goalOf(2, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("1a", func(m *Member) { m.Deleting = true }).
				add(joining("1b", 1, "id-1a")),
			want: []Action{Retire{Node: "1a", Why: "1a is being replaced on request"}},
		},
		"Stranger": {
			reason: "A newcomer that is not needed any more and knows nobody goes at once (simulation, seed 6).",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(fresh("1a", 1)).strangers("1a"),
			want: []Action{
				SetPhase{Node: "1a", Phase: PhaseLeaving},
			},
		},
		"SilentWhileNobodyIsLeft": {
			reason: "A member that does not answer is not released when nobody is left to ask (simulation, seed 284).",
			goal:   goalOf(1, 0), snap: formed(1, 0).with("0a", func(m *Member) { m.Phase, m.Deleting = PhaseJoining, true }).lose("0a"),
			want: []Action{CreateNode{Name: "n0-0", Shard: 0, Why: "0a leaves"}},
		},
	})
}

func active(m Member) Member {
	m.Phase = PhaseActive
	return m
}
