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

	"github.com/google/go-cmp/cmp"
)

func TestSlotSetRanges(t *testing.T) {
	cases := map[string]struct {
		reason string
		add    []SlotRange
		remove []int
		want   []SlotRange
	}{
		"Empty":     {reason: "The zero value has no ranges."},
		"All":       {reason: "All slots are one range.", add: []SlotRange{{0, 16383}}, want: []SlotRange{{0, 16383}}},
		"WordEdges": {reason: "Ranges may start and end at the edges of a word.", add: []SlotRange{{63, 64}, {127, 192}}, want: []SlotRange{{63, 64}, {127, 192}}},
		"Merged":    {reason: "Neighbours are one range.", add: []SlotRange{{0, 63}, {64, 99}}, want: []SlotRange{{0, 99}}},
		"Hole":      {reason: "A slot that was removed splits a range.", add: []SlotRange{{0, 200}}, remove: []int{128}, want: []SlotRange{{0, 127}, {129, 200}}},
		"Outside":   {reason: "Slots that do not exist are ignored.", add: []SlotRange{{-5, 1}, {16383, 20000}}, want: []SlotRange{{0, 1}, {16383, 16383}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := NewSlotSet(tc.add...)
			for _, i := range tc.remove {
				s.Remove(i)
			}
			if diff := cmp.Diff(tc.want, s.Ranges()); diff != "" {
				t.Errorf("%s\nRanges(): -want, +got:\n%s", tc.reason, diff)
			}
			n := 0
			for _, r := range tc.want {
				n += r.Len()
			}
			if s.Len() != n {
				t.Errorf("%s\nLen(): want %d, got %d", tc.reason, n, s.Len())
			}
		})
	}
}
