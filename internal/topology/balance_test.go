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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func classic(m *Member) { m.Process.Version, m.Process.AtomicMigration = "8.1.1", false }

func keys(n int64) func(m *Member) { return func(m *Member) { m.Process.Keys = n } }

func TestBalance(t *testing.T) {
	testPlans(t, map[string]planCase{
		"ScaleOut": {
			reason: "Disjoint pairs move at once, no more than what is too much.",
			goal:   goalOf(4, 0), snap: formed(2, 0).add(fresh("2a", 2)).add(fresh("3a", 3)),
			want: []Action{
				MigrateSlots{From: "0a", To: "2a", FromID: "id-0a", ToID: "id-2a", Ranges: []SlotRange{{4096, 8191}}, KeysHint: 4096},
				MigrateSlots{From: "1a", To: "3a", FromID: "id-1a", ToID: "id-3a", Ranges: []SlotRange{{12288, 16383}}, KeysHint: 4096},
			},
		},
		"ScaleOutWithKeys": {
			reason: "One job moves a bounded number of keys.",
			goal:   goalOf(2, 0), snap: formed(1, 0).with("0a", keys(16384*100)).add(fresh("1a", 1)),
			want: []Action{
				MigrateSlots{From: "0a", To: "1a", FromID: "id-0a", ToID: "id-1a", Ranges: []SlotRange{{16309, 16383}}, KeysHint: 7500},
			},
		},
		"NewShardNotReady": {
			reason: "A shard gets slots when it has its replicas.",
			goal:   goalOf(2, 1), snap: formed(1, 1).add(fresh("1a", 1)).add(pending("1b", 1)),
		},
		"JobRuns": {
			reason: "A pair has one job at a time.",
			goal:   goalOf(2, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("0a", func(m *Member) {
				m.Process.Jobs = []Job{{Export: true, Active: true, SourceID: "id-0a", TargetID: "id-1a"}}
			}),
		},
		"JobFailed": {
			reason: "After a failure the next job waits.",
			goal:   goalOf(2, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("0a", func(m *Member) {
				m.Process.Jobs = []Job{{Export: true, Failed: true, SourceID: "id-0a", TargetID: "id-1a", Age: time.Second}}
			}),
		},
		"JobFailedLongAgo": {
			reason: "Then it is tried again.",
			goal:   goalOf(2, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("0a", func(m *Member) {
				m.Process.Jobs = []Job{{Export: true, Failed: true, SourceID: "id-0a", TargetID: "id-1a", Age: time.Minute}}
			}),
			want: []Action{
				MigrateSlots{From: "0a", To: "1a", FromID: "id-0a", ToID: "id-1a", Ranges: []SlotRange{{12288, 16383}}, KeysHint: 4096},
			},
		},
		"ScaleIn": {
			reason: "A shard that goes is drained first.",
			goal:   goalOf(1, 0), snap: formed(2, 0),
			want: []Action{
				MigrateSlots{From: "1a", To: "0a", FromID: "id-1a", ToID: "id-0a", Ranges: []SlotRange{{12288, 16383}}, KeysHint: 4096},
			},
		},
		"Drained": {
			reason: "Its members leave when it has no slots.",
			goal:   goalOf(1, 1), snap: formed(1, 1).add(active(fresh("1a", 1))).add(active(joining("1b", 1, "id-1a"))),
			want: []Action{SetPhase{Node: "1a", Phase: PhaseLeaving}, SetPhase{Node: "1b", Phase: PhaseLeaving}},
		},
		"DrainedAndLeaving": {
			reason: "Then they are retired.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("1a", func(m *Member) { m.Phase = PhaseLeaving }),
			want: []Action{Retire{Node: "1a", Why: "1a is no longer needed"}},
		},
		"DrainedButOthersDoNotKnow": {
			reason: "A member that others still send clients to does not stop.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("1a", func(m *Member) { m.Phase = PhaseLeaving }).
				view(func(_, of string, p *Peer) bool {
					if of == "1a" {
						p.Slots = []SlotRange{{5, 5}}
					}
					return true
				}),
		},
		"ScaleInDoesNotFit": {
			reason: "Data that does not fit is not moved.",
			goal:   goalOf(1, 0), snap: formed(2, 0).all(func(m *Member) { m.Process.UsedMemory, m.Process.MaxMemory = 80<<20, 100<<20 }),
		},
		"ClassicScaleOut": {
			reason: "Before Valkey 9 slots move key by key, a few at a time.",
			goal:   goalOf(2, 0), snap: formed(1, 0).add(fresh("1a", 1)).all(classic).with("0a", keys(16384*2500)),
			want: []Action{MoveSlots{From: "0a", To: "1a", FromID: "id-0a", ToID: "id-1a", Slots: []int{16376, 16377, 16378, 16379, 16380, 16381, 16382, 16383}}},
		},
		"ClassicInterrupted": {
			reason: "The markers that the servers keep tell how to go on.",
			goal:   goalOf(2, 0), snap: formed(2, 0).all(classic).
				with("0a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 7, Migrating: true, PeerID: "id-1a"}} }).
				with("1a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 7, PeerID: "id-0a"}} }),
			want: []Action{MoveSlots{From: "0a", To: "1a", FromID: "id-0a", ToID: "id-1a", Slots: []int{7}}},
		},
		"ClassicInterruptedAtTheEnd": {
			reason: "A slot that arrived is closed at its target.",
			goal:   goalOf(2, 0), snap: formed(2, 0).all(classic).
				with("1a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 16000, PeerID: "id-0a"}} }),
			want: []Action{CloseSlot{Node: "1a", Slot: 16000}},
		},
		"ClassicTargetDies": {
			reason: "A slot whose other end is gone is closed.",
			goal:   goalOf(2, 0), snap: formed(2, 0).all(classic).add(fresh("2a", 2)).crash("2a").
				with("0a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 7, Migrating: true, PeerID: "id-2a"}} }),
			want: []Action{CloseSlot{Node: "0a", Slot: 7}, Retire{Node: "2a", Why: "it is dead"}},
		},
		"ClassicSourceDies": {
			reason: "A lost slot that was being imported stays with the keys that have moved (simulation, seed 9657).",
			goal:   goalOf(3, 0), snap: formed(3, 0).all(classic).crash("1a").strangers("1a").add(fresh("1x", 1)).
				with("0a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 10921, PeerID: "id-1a"}} }),
			want: []Action{
				AddSlots{Node: "0a", Ranges: []SlotRange{{10921, 10921}}, Bump: true},
				AddSlots{Node: "1x", Ranges: []SlotRange{{5461, 10920}}, Bump: true},
				Retire{Node: "1a", Why: "it is dead"},
			},
		},
		"ClassicSourceNotForgotten": {
			reason: "It stays open while the slot is not free.",
			goal:   goalOf(3, 0), snap: formed(3, 0).all(classic).crash("1a").add(pending("1x", 1)).
				with("0a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 10921, PeerID: "id-1a"}} }),
		},
		"ClassicTargetHangs": {
			reason: "A slot whose other end may come back is left open: keys may have moved.",
			goal:   goalOf(2, 0), snap: formed(2, 0).all(classic).lose("1a").
				with("0a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 7, Migrating: true, PeerID: "id-1a"}} }),
		},
		"ClassicTargetFailedOver": {
			reason: "A move goes on with the primary that took the target's place.",
			goal:   goalOf(2, 1), snap: formed(2, 1).all(classic).handedOver("1a", "1b", time.Minute).
				with("0a", func(m *Member) { m.Process.Open = []OpenSlot{{Slot: 7, Migrating: true, PeerID: "id-1a"}} }),
			want: []Action{MoveSlots{From: "0a", To: "1b", FromID: "id-0a", ToID: "id-1b", Slots: []int{7}}},
		},
		"NewerToOlder": {
			reason: "An older server does not read what a newer one writes.",
			goal:   goalOf(2, 0), snap: formed(1, 0).add(fresh("1a", 1)).with("1a", classic),
		},
	})
}

func TestBalanceProblems(t *testing.T) {
	cases := map[string]struct {
		reason string
		snap   *fixture
		want   string
	}{
		"DoesNotFit": {
			reason: "It is told what is missing.",
			snap:   formed(2, 0).all(func(m *Member) { m.Process.UsedMemory, m.Process.MaxMemory = 80<<20, 100<<20 }),
			want:   "scaling in to 1 shards does not start: 76 MiB do not fit",
		},
		"NewerToOlder": {
			reason: "It is told why slots do not move.",
			snap:   formed(2, 0).with("0a", classic),
			want:   "slots cannot move from 1a (Valkey 9.1.2) to 0a (Valkey 8.1.1)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Next(goalOf(1, 0), tc.snap.snapshot())
			if len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0], tc.want) {
				t.Errorf("%s\nNext(...): want a problem %q, got %q", tc.reason, tc.want, p.Problems)
			}
			if diff := cmp.Diff(ReasonBlocked, p.Reason); diff != "" {
				t.Errorf("%s\nNext(...): -want, +got reason:\n%s", tc.reason, diff)
			}
		})
	}
}
