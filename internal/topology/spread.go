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
	"cmp"
	"fmt"
	"slices"
)

// A crowd counts primaries by host and by zone.
type crowd struct {
	hosts, zones map[string]int
}

func (c *crowd) add(m *member) {
	c.hosts[m.Host]++
	c.zones[m.Zone]++
}

func (c *crowd) remove(m *member) {
	c.hosts[m.Host]--
	c.zones[m.Zone]--
}

// room rates a member as a place for one more primary, from 0 up: zones count
// before hosts, since more is lost with a zone.
func (c *crowd) room(m *member) int {
	return max(0, 1_000_000-1000*c.zones[m.Zone]-c.hosts[m.Host])
}

// crowd counts the primaries of shards, as they are after this plan, as far as
// they are not about to move anyway.
func (w *world) crowd() *crowd {
	c := &crowd{hosts: map[string]int{}, zones: map[string]int{}}
	for _, s := range w.shards {
		p := cmp.Or(s.heir, s.primary)
		if p != nil && p.keep && p.Outdated == "" {
			c.add(p)
		}
	}
	return c
}

// A seat is a shard whose primary may be another one of its members.
type seat struct {
	shard *shard
	// others may lead in place of the primary. The primary may be among them.
	others []*member
}

// A move gives the lead of a shard to another member for the sake of the spread.
type move struct {
	shard *shard
	to    *member
	why   string
}

func zoneOf(m *member) string { return m.Zone }

func hostOf(m *member) string { return m.Host }

// next finds the move that brings the spread nearest to the best one, or returns
// nil if there is none: no zone, and within a zone no host, can get fewer primaries
// without another one having more than it has now. Zones go first, and hosts count
// only where no zone loses by it.
//
// Where one move gains nothing, a chain of them may: the last one of the shortest
// chain goes first, after which a shorter one is left. So moves come to an end, and
// none is undone.
func (c *crowd) next(seats []seat) *move {
	zones := spread{of: zoneOf, counts: c.zones, noun: "zone", allow: func(_, _ *member) bool { return true }}
	hosts := spread{of: hostOf, counts: c.hosts, noun: "node", allow: func(from, to *member) bool { return gain(c.zones, from.Zone, to.Zone) >= 0 }}
	within := hosts
	within.allow = func(from, to *member) bool { return from.Zone == to.Zone }
	finders := []func([]seat) *move{
		func(s []seat) *move { return zones.direct(s, &hosts) }, zones.chain,
		func(s []seat) *move { return hosts.direct(s, &zones) }, within.chain,
	}
	for _, find := range finders {
		if m := find(seats); m != nil {
			return m
		}
	}
	return nil
}

// gain is how much the spread gains by moving a primary from one place to another:
// the change of the sum of the squares of the counts, halved. It is at least 1
// exactly where the difference between the two places shrinks.
func gain(counts map[string]int, from, to string) int {
	if from == to {
		return 0
	}
	return counts[from] - counts[to] - 1
}

// A spread is how primaries are placed over one sort of place.
type spread struct {
	of     func(*member) string
	counts map[string]int
	noun   string
	// allow tells whether a move may be considered.
	allow func(from, to *member) bool
}

func (b *spread) gain(from, to *member) int { return gain(b.counts, b.of(from), b.of(to)) }

// direct finds the move that gains most here, and of equals the one that gains most
// in the second spread. Then the shard goes that has been left alone for longest.
func (b *spread) direct(seats []seat, second *spread) *move {
	var out *move
	for _, s := range seats {
		p := s.shard.primary
		for _, m := range s.others {
			if b.gain(p, m) <= 0 || !b.allow(p, m) {
				continue
			}
			if out != nil && cmp.Or(
				cmp.Compare(b.gain(p, m), b.gain(out.shard.primary, out.to)),
				cmp.Compare(second.gain(p, m), second.gain(out.shard.primary, out.to)),
				cmp.Compare(p.RoleAge, out.shard.primary.RoleAge)) <= 0 {
				continue
			}
			out = &move{shard: s.shard, to: m, why: b.explain(b.of(p), b.of(m))}
		}
	}
	return out
}

// chain finds the shortest chain of moves that takes a primary from one place and
// gives another one that has at least two fewer one more, and returns its last move.
func (b *spread) chain(seats []seat) *move {
	var out *move
	shortest := 0
	for _, start := range b.places(seats) {
		steps := map[string]int{start: 0}
		for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
			at := queue[0]
			if out != nil && steps[at]+1 >= shortest {
				break
			}
			for _, m := range b.leaving(at, seats) {
				to := b.of(m.to)
				if _, seen := steps[to]; seen {
					continue
				}
				steps[to] = steps[at] + 1
				queue = append(queue, to)
				if gain(b.counts, start, to) > 0 && (out == nil || steps[to] < shortest) {
					shortest = steps[to]
					out = &move{shard: m.shard, to: m.to, why: fmt.Sprintf("%s; one of %s moves first", b.explain(start, to), at)}
				}
			}
		}
	}
	return out
}

// places returns the places that have primaries, those with most first.
func (b *spread) places(seats []seat) []string {
	var out []string
	for _, s := range seats {
		if p := b.of(s.shard.primary); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return cmp.Or(cmp.Compare(b.counts[y], b.counts[x]), cmp.Compare(x, y)) })
	return out
}

// leaving returns the moves that take a primary from a place.
func (b *spread) leaving(place string, seats []seat) []move {
	var out []move
	for _, s := range seats {
		p := s.shard.primary
		for _, m := range s.others {
			if b.of(p) == place && m != p && b.allow(p, m) {
				out = append(out, move{shard: s.shard, to: m})
			}
		}
	}
	return out
}

func (b *spread) explain(from, to string) string {
	return fmt.Sprintf("%s %s has %d primaries and %s has %d", b.noun, from, b.counts[from], to, b.counts[to])
}

// settle chooses again among members with the same claim to lead shards that have
// no slots yet, so that nothing has to move once they have them.
func (c *crowd) settle(shards []*shard) {
	for {
		var seats []seat
		for _, s := range shards {
			seats = append(seats, seat{shard: s, others: filter(s.live(), func(m *member) bool { return s.claim(m) == s.claim(s.primary) })})
		}
		m := c.next(seats)
		if m == nil {
			return
		}
		c.remove(m.shard.primary)
		c.add(m.to)
		m.shard.primary = m.to
	}
}
