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

func TestReportStalls(t *testing.T) {
	newcomer := func(change func(*Member)) *fixture {
		return formed(1, 1).with("0b", func(m *Member) {
			m.Phase, m.PodAge, m.Process.LinkUp = PhaseJoining, 2*time.Minute, false
			change(m)
		})
	}
	cases := map[string]struct {
		reason string
		snap   *fixture
		want   []string
	}{
		"NeverSyncs": {
			reason: "One that has not begun to sync after a minute holds the change up.",
			snap:   newcomer(func(m *Member) { m.LastWords = "no route" }),
			want:   []string{"member 0b has not synced with 0a; nothing is replaced before it has; its log says: no route"},
		},
		"Young": {
			reason: "A member needs a moment.",
			snap:   newcomer(func(m *Member) { m.PodAge = 3 * time.Second }),
		},
		"Syncs": {
			reason: "Much data takes long.",
			snap:   newcomer(func(m *Member) { m.Process.Syncing = true }),
		},
		"Older": {
			reason: "A downgrade is named at once, also while the server tries again and again.",
			snap: newcomer(func(m *Member) {
				m.PodAge, m.Process.Version, m.Process.Syncing = 10*time.Second, "0.9.9", true
			}),
			want: []string{"member 0b (Valkey 0.9.9) has not synced with 0a (Valkey 9.1.2): an older server may not read what a newer one writes; go back to the newer image"},
		},
		"LostItsLink": {
			reason: "A settled replica that lost its link is not a newcomer.",
			snap:   newcomer(func(m *Member) { m.Phase = PhaseActive }),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Next(goalOf(1, 1), tc.snap.snapshot()).Problems
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nProblems: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOlder(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Major":   {reason: "8 is before 9.", a: "8.1.1", b: "9.0.0", want: true},
		"Minor":   {reason: "Numbers are compared, not texts.", a: "8.9.0", b: "8.10.0", want: true},
		"Patch":   {reason: "Patches understand each other.", a: "9.1.0", b: "9.1.2"},
		"Newer":   {reason: "An upgrade is no downgrade.", a: "9.1.0", b: "8.1.0"},
		"Unknown": {reason: "What is no version is the oldest.", a: "unstable", b: "9.1.0", want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := older(tc.a, tc.b); got != tc.want {
				t.Errorf("%s\nolder(%q, %q): got %t", tc.reason, tc.a, tc.b, got)
			}
		})
	}
}
