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
	"fmt"
	"math/bits"
	"strings"
)

// SlotCount is the number of hash slots of a Valkey cluster.
const SlotCount = 16384

// A SlotRange is a range of hash slots, both ends included.
type SlotRange struct {
	Start int
	End   int
}

// Len returns the number of slots in the range.
func (r SlotRange) Len() int { return r.End - r.Start + 1 }

// String returns the range as Valkey writes it, for example 0-5460.
func (r SlotRange) String() string {
	if r.Start == r.End {
		return fmt.Sprint(r.Start)
	}
	return fmt.Sprintf("%d-%d", r.Start, r.End)
}

// A SlotSet is a set of hash slots. Its zero value is empty.
type SlotSet struct {
	words [SlotCount / 64]uint64
}

// NewSlotSet returns the set of all slots in the ranges.
func NewSlotSet(rs ...SlotRange) SlotSet {
	s := SlotSet{}
	s.AddRanges(rs)
	return s
}

// Add puts one slot into the set. A slot that does not exist is ignored.
func (s *SlotSet) Add(slot int) {
	if slot < 0 || slot >= SlotCount {
		return
	}
	s.words[slot/64] |= 1 << (slot % 64)
}

// Remove takes one slot out of the set.
func (s *SlotSet) Remove(slot int) {
	if slot < 0 || slot >= SlotCount {
		return
	}
	s.words[slot/64] &^= 1 << (slot % 64)
}

// AddRanges puts all slots of the ranges into the set.
func (s *SlotSet) AddRanges(rs []SlotRange) {
	for _, r := range rs {
		first, last := max(r.Start, 0), min(r.End, SlotCount-1)
		for i := first; i <= last; {
			// A whole word at a time, where the range covers one.
			if i%64 == 0 && i+63 <= last {
				s.words[i/64] = ^uint64(0)
				i += 64
				continue
			}
			s.Add(i)
			i++
		}
	}
}

// Has tells whether a slot is in the set.
func (s *SlotSet) Has(slot int) bool {
	return slot >= 0 && slot < SlotCount && s.words[slot/64]&(1<<(slot%64)) != 0
}

// Len returns the number of slots in the set.
func (s *SlotSet) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Union adds all slots of another set.
func (s *SlotSet) Union(o *SlotSet) {
	for i := range s.words {
		s.words[i] |= o.words[i]
	}
}

// Subtract removes all slots of another set.
func (s *SlotSet) Subtract(o *SlotSet) {
	for i := range s.words {
		s.words[i] &^= o.words[i]
	}
}

// Intersects tells whether the sets share a slot.
func (s *SlotSet) Intersects(o *SlotSet) bool {
	for i := range s.words {
		if s.words[i]&o.words[i] != 0 {
			return true
		}
	}
	return false
}

// Ranges returns the set as the fewest ranges, in ascending order.
func (s *SlotSet) Ranges() []SlotRange {
	var rs []SlotRange
	for i := s.next(0, true); i < SlotCount; {
		end := s.next(i, false)
		rs = append(rs, SlotRange{Start: i, End: end - 1})
		i = s.next(end, true)
	}
	return rs
}

// next returns the first slot from a given one on that is in the set, or that
// is not in it, and SlotCount if there is none.
func (s *SlotSet) next(from int, in bool) int {
	for i := from; i < SlotCount; {
		w := s.words[i/64]
		if !in {
			w = ^w
		}
		w >>= i % 64
		if w != 0 {
			return i + bits.TrailingZeros64(w)
		}
		i = (i/64 + 1) * 64
	}
	return SlotCount
}

// FormatRanges renders ranges for people, for example 0-5460 10923-16383.
func FormatRanges(rs []SlotRange) string {
	ss := make([]string, 0, len(rs))
	for _, r := range rs {
		ss = append(ss, r.String())
	}
	return strings.Join(ss, " ")
}

// EvenRanges splits all slots into n ranges whose lengths differ by at most
// one.
func EvenRanges(n int) []SlotRange {
	rs := make([]SlotRange, 0, n)
	for i := range n {
		rs = append(rs, SlotRange{Start: SlotCount * i / n, End: SlotCount*(i+1)/n - 1})
	}
	return rs
}

// take removes up to n slots from the upper end of the set and returns them.
func (s *SlotSet) take(n int) SlotSet {
	out := SlotSet{}
	for i := SlotCount - 1; i >= 0 && n > 0; i-- {
		if s.Has(i) {
			s.Remove(i)
			out.Add(i)
			n--
		}
	}
	return out
}
