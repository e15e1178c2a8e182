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
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSlotRanges(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   []SlotRange
		fails  bool
	}{
		"Empty":      {reason: "No text is no slots.", in: ""},
		"Mixed":      {reason: "Ranges and single slots are separated by spaces.", in: "0-5460 10923", want: []SlotRange{{0, 5460}, {10923, 10923}}},
		"Commas":     {reason: "Commas separate as well.", in: "1-2,4", want: []SlotRange{{1, 2}, {4, 4}}},
		"Whole":      {reason: "Both ends of the slot space are slots.", in: "0-16383", want: []SlotRange{{0, 16383}}},
		"TooHigh":    {reason: "16384 is not a slot.", in: "0-16384", fails: true},
		"Negative":   {reason: "A range has two ends.", in: "-5", fails: true},
		"Backwards":  {reason: "A range does not end before it starts.", in: "5-4", fails: true},
		"NotANumber": {reason: "Slots are numbers.", in: "a-b", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSlotRanges(tc.in)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nParseSlotRanges(%q): error %v", tc.reason, tc.in, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseSlotRanges(%q): -want, +got:\n%s", tc.reason, tc.in, diff)
			}
		})
	}
}

func TestCountSlots(t *testing.T) {
	if got := CountSlots([]SlotRange{{0, 5460}, {10923, 10923}}); got != 5462 {
		t.Errorf("CountSlots(...): want 5462, got %d", got)
	}
}

func FuzzParseSlotRanges(f *testing.F) {
	f.Add("0-5460 10923")
	f.Add("5-4")
	f.Add("-,-")
	f.Fuzz(func(t *testing.T, in string) {
		ranges, err := ParseSlotRanges(in)
		if err != nil {
			return
		}
		again, err := ParseSlotRanges(FormatSlotRanges(ranges))
		if err != nil {
			t.Fatalf("what was formatted does not parse: %v", err)
		}
		if diff := cmp.Diff(ranges, again); diff != "" {
			t.Fatalf("-first, +second:\n%s", diff)
		}
		checkRanges(t, ranges)
	})
}

func checkRanges(t *testing.T, ranges []SlotRange) {
	t.Helper()
	for _, r := range ranges {
		if r.Start < 0 || r.End >= SlotCount || r.Len() < 1 {
			t.Fatalf("%v is not a range of slots", r)
		}
	}
}
