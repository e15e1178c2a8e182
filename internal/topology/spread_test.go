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
	"math/rand/v2"
	"testing"
)

// TestSpreadIsBest checks with random places that moves come to an end and that no
// other choice of primaries would spread them better over zones nor, with each in the
// zone that it is in, over hosts.
func TestSpreadIsBest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		seats, c := seatsAt(rnd, 1+rnd.IntN(7), 1+rnd.IntN(3))
		for moves := 0; ; moves++ {
			m := c.next(seats)
			if m == nil {
				break
			}
			if moves > 50 {
				t.Fatalf("moves do not come to an end: %v", c)
			}
			c.remove(m.shard.primary)
			c.add(m.to)
			m.shard.primary = m.to
		}
		if got, want := squares(c.zones), fewestSquares(seats, zoneOf, func(_, _ *member) bool { return true }); got != want {
			t.Fatalf("sum of squares over zones: want %d, got %d: %v", want, got, c)
		}
		if got, want := squares(c.hosts), fewestSquares(seats, hostOf, func(p, m *member) bool { return p.Zone == m.Zone }); got != want {
			t.Fatalf("sum of squares over hosts: want %d, got %d: %v", want, got, c)
		}
	}
}

func seatsAt(rnd *rand.Rand, shards, members int) ([]seat, *crowd) {
	c := &crowd{hosts: map[string]int{}, zones: map[string]int{}}
	var seats []seat
	for range shards {
		s := seat{shard: &shard{}}
		for range members {
			host := rnd.IntN(9)
			s.others = append(s.others, &member{Member: Member{Host: fmt.Sprint("n", host), Zone: fmt.Sprint("z", host%3)}})
		}
		s.shard.primary = s.others[0]
		c.add(s.shard.primary)
		seats = append(seats, s)
	}
	return seats, c
}

// fewestSquares tries every choice of primaries that may take the place of those of
// now, and returns the least sum of the squares of the counts.
func fewestSquares(seats []seat, of func(*member) string, may func(now, m *member) bool) int {
	fewest := 1 << 30
	counts := map[string]int{}
	var try func(i int)
	try = func(i int) {
		if i == len(seats) {
			fewest = min(fewest, squares(counts))
			return
		}
		for _, m := range seats[i].others {
			if !may(seats[i].shard.primary, m) {
				continue
			}
			counts[of(m)]++
			try(i + 1)
			counts[of(m)]--
		}
	}
	try(0)
	return fewest
}

func squares(counts map[string]int) int {
	out := 0
	for _, n := range counts {
		out += n * n
	}
	return out
}
