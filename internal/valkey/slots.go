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
	"fmt"
	"strconv"
	"strings"
)

// SlotCount is the number of hash slots of every cluster.
const SlotCount = 16384

// A SlotRange is a range of hash slots, both ends included.
type SlotRange struct {
	Start, End int
}

// Len returns the number of slots in the range.
func (r SlotRange) Len() int { return r.End - r.Start + 1 }

// String returns the range as CLUSTER NODES writes it: "5" or "0-5460".
func (r SlotRange) String() string {
	if r.Start == r.End {
		return strconv.Itoa(r.Start)
	}
	return strconv.Itoa(r.Start) + "-" + strconv.Itoa(r.End)
}

// ParseSlotRanges parses ranges separated by spaces or commas, for example "0-5460 10923".
func ParseSlotRanges(s string) ([]SlotRange, error) {
	var out []SlotRange
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		r, err := parseSlotRange(f)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// FormatSlotRanges writes ranges the way ParseSlotRanges reads them.
func FormatSlotRanges(ranges []SlotRange) string {
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		parts[i] = r.String()
	}
	return strings.Join(parts, " ")
}

// CountSlots returns the number of slots in all ranges together.
func CountSlots(ranges []SlotRange) int {
	n := 0
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}

func parseSlotRange(s string) (SlotRange, error) {
	first, last, isRange := strings.Cut(s, "-")
	start, err := parseSlot(first)
	if err != nil {
		return SlotRange{}, err
	}
	if !isRange {
		return SlotRange{Start: start, End: start}, nil
	}
	end, err := parseSlot(last)
	if err != nil {
		return SlotRange{}, err
	}
	if end < start {
		return SlotRange{}, fmt.Errorf("slot range %q ends before it starts", s)
	}
	return SlotRange{Start: start, End: end}, nil
}

func parseSlot(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= SlotCount {
		return 0, fmt.Errorf("%q is not a slot", s)
	}
	return n, nil
}

// rangeArgs returns the ranges as the arguments "start end start end ...".
func rangeArgs(ranges []SlotRange) []string {
	args := make([]string, 0, 2*len(ranges))
	for _, r := range ranges {
		args = append(args, strconv.Itoa(r.Start), strconv.Itoa(r.End))
	}
	return args
}
