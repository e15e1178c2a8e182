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

package valkey

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseSlotMigrations(t *testing.T) {
	failed := Migration{
		Name: "50a7", Operation: MigrationExport, Ranges: []SlotRange{{150, 160}, {170, 170}}, SourceID: idA, TargetID: idB,
		State: "failed", Message: "Connection lost to target", CreateTime: time.Unix(1780000000, 0), LastUpdate: time.Unix(1780000005, 0), RemainingBytes: 7,
	}
	cases := map[string]struct {
		reason string
		in     any
		want   []Migration
		fails  bool
	}{
		"Nil":   {reason: "No reply is no jobs."},
		"Empty": {reason: "A server that has never migrated has no jobs.", in: []any{}},
		"FlatList": {
			reason: "RESP2 has names and values in turn.",
			in: []any{[]any{
				"name", "50a7", "operation", "EXPORT", "slot_ranges", "150-160 170", "target_node", idB, "source_node", idA,
				"create_time", int64(1780000000), "last_update_time", int64(1780000005), "last_ack_time", int64(0),
				"state", "failed", "message", "Connection lost to target", "cow_size", int64(0), "remaining_repl_size", int64(7),
			}},
			want: []Migration{failed},
		},
		"Map": {
			reason: "RESP3 has maps, and a server may spell numbers as text.",
			in: []any{map[string]any{
				"name": "50a7", "operation": "export", "slot_ranges": "150-160 170", "target_node": idB, "source_node": idA,
				"create_time": "1780000000", "last_update_time": int64(1780000005), "state": "failed", "message": "Connection lost to target",
				"remaining_repl_size": int64(7), "something_new": []any{"x"},
			}},
			want: []Migration{failed},
		},
		"NilMessage": {reason: "A message may be nil.", in: []any{[]any{"message", nil, "state", "success"}}, want: []Migration{{State: "success"}}},
		"OddList":    {reason: "A name without a value is an error.", in: []any{[]any{"name"}}, fails: true},
		"NotAList":   {reason: "A single value is an error.", in: "OK", fails: true},
		"NotAJob":    {reason: "A job has names and values.", in: []any{"OK"}, fails: true},
		"BadRange":   {reason: "A range is a range.", in: []any{[]any{"slot_ranges", "x"}}, fails: true},
		"BadTime":    {reason: "A time is a number.", in: []any{[]any{"create_time", "x"}}, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSlotMigrations(tc.in)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nParseSlotMigrations(...): error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseSlotMigrations(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMigrationStates(t *testing.T) {
	type phase struct{ Active, Done, Failed bool }
	cases := map[string]struct {
		reason string
		states []string
		want   phase
	}{
		"Active": {
			reason: "All states but the last are under way, known or not.",
			states: []string{"connecting", "waiting-to-snapshot", "snapshotting", "replicating", "waiting-to-pause", "failover-paused", "failover-granted", "waiting-for-ack", "new-in-10"},
			want:   phase{Active: true},
		},
		"Done":   {reason: "Only success moved the slots.", states: []string{"success"}, want: phase{Done: true}},
		"Failed": {reason: "A cancelled job moved nothing either.", states: []string{"failed", "cancelled"}, want: phase{Failed: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, s := range tc.states {
				m := Migration{State: s}
				if diff := cmp.Diff(tc.want, phase{m.Active(), m.Done(), m.Failed()}); diff != "" {
					t.Errorf("%s\nMigration{State: %q}: -want, +got:\n%s", tc.reason, s, diff)
				}
			}
		})
	}
}

func FuzzParseSlotMigrations(f *testing.F) {
	f.Add("name\nx\nslot_ranges\n1-2 4\nstate\nfailed", true)
	f.Add("create_time\nx", false)
	f.Fuzz(func(t *testing.T, in string, asMap bool) {
		var job any
		words := strings.Split(in, "\n")
		if asMap {
			m := map[string]any{}
			for i := 0; i+1 < len(words); i += 2 {
				m[words[i]] = words[i+1]
			}
			job = m
		} else {
			l := make([]any, len(words))
			for i := range words {
				l[i] = words[i]
			}
			job = l
		}
		ms, err := ParseSlotMigrations([]any{job})
		if err != nil {
			return
		}
		for _, m := range ms {
			checkRanges(t, m.Ranges)
		}
	})
}
