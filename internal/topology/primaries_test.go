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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// placed puts members on hosts, given as name=zone/host.
func placed(f *fixture, at ...string) *fixture {
	for _, a := range at {
		name, place, _ := strings.Cut(a, "=")
		zone, host, _ := strings.Cut(place, "/")
		f.with(name, func(m *Member) { m.Zone, m.Host = zone, host })
	}
	return f
}

// crowded has two primaries on n1 of zone a, and none on n3 of zone c.
func crowded() *fixture {
	return placed(formed(3, 1), "0a=a/n1", "0b=b/n2", "1a=a/n1", "1b=c/n3", "2a=b/n2", "2b=c/n3")
}

func TestBalancePrimaries(t *testing.T) {
	to1b := Failover{Node: "1b", Mode: FailoverDefault, Shard: 1, Old: "1a", Balance: true, Why: "zone a has 2 primaries and c has 0"}
	testPlans(t, map[string]planCase{
		"Zones": {
			reason: "A primary moves from the zone with most to the one with fewest.",
			goal:   goalOf(3, 1), snap: crowded(), want: []Action{to1b},
		},
		"Hosts": {
			reason: "Within a zone hosts count.",
			goal:   goalOf(2, 1), snap: placed(formed(2, 1), "0a=a/n1", "0b=a/n2", "1a=a/n1", "1b=a/n3"),
			want: []Action{Failover{Node: "0b", Mode: FailoverDefault, Shard: 0, Old: "0a", Balance: true, Why: "node n1 has 2 primaries and n2 has 0"}},
		},
		"LeftAloneForLongest": {
			reason: "Of two moves as good the shard goes whose primary is older.",
			goal:   goalOf(2, 1), snap: placed(formed(2, 1), "0a=a/n1", "0b=a/n2", "1a=a/n1", "1b=a/n3").
				with("1a", func(m *Member) { m.RoleAge = time.Hour }),
			want: []Action{Failover{Node: "1b", Mode: FailoverDefault, Shard: 1, Old: "1a", Balance: true, Why: "node n1 has 2 primaries and n3 has 0"}},
		},
		"Chain": {
			reason: "Where no move gains anything, one that makes room for another does.",
			goal:   goalOf(3, 1), snap: placed(formed(3, 1), "0a=a/n1", "0b=b/n2", "1a=a/n1", "1b=b/n2", "2a=b/n2", "2b=c/n3"),
			want: []Action{Failover{
				Node: "2b", Mode: FailoverDefault, Shard: 2, Old: "2a", Balance: true,
				Why: "zone a has 2 primaries and c has 0; one of b moves first",
			}},
		},
		"OneMore": {
			reason: "A difference of one only changes sides.",
			goal:   goalOf(2, 1), snap: placed(formed(2, 1), "0a=a/n1", "0b=b/n2", "1a=b/n2", "1b=c/n3"),
		},
		"ZonesBeforeHosts": {
			reason: "A move that is good for hosts but bad for zones is not made.",
			goal:   goalOf(4, 1), snap: placed(formed(4, 1), "0a=a/n1", "0b=b/n3", "1a=a/n1", "1b=b/n3", "2a=b/n2", "2b=b/n4", "3a=b/n4", "3b=b/n2"),
		},
		"NotInSync": {
			reason: "Every replica must be in sync.",
			goal:   goalOf(3, 1), snap: crowded().with("0b", func(m *Member) { m.Process.LinkUp, m.Process.Syncing = false, true }),
			want: []Action{Tune{Node: "0a", NodeTimeout: 5 * time.Second}},
		},
		"HostLost": {
			reason: "With a host in doubt nothing moves.",
			goal:   goalOf(3, 1), snap: crowded().with("2b", func(m *Member) { m.HostLost = true }),
		},
		"RoleChanged": {
			reason: "A role that has changed lately may change again.",
			goal:   goalOf(3, 1), snap: crowded().with("2a", func(m *Member) { m.RoleAge = time.Second }),
		},
		"Rolling": {
			reason: "A roll goes first, and may do it on the way.",
			goal:   goalOf(3, 1), snap: crowded().with("2b", outdated),
			want: []Action{CreateNode{Name: "n2-0", Shard: 2, Why: "2b is outdated: the image differs"}},
		},
		"SlotsMove": {
			reason: "So does a migration.",
			goal:   goalOf(3, 1), snap: crowded().with("2a", func(m *Member) {
				m.Process.Jobs = []Job{{Export: true, Active: true, SourceID: "id-2a", TargetID: "id-0a"}}
			}),
		},
		"RollChooses": {
			reason: "The successor in a roll is the one in the emptier place.",
			goal:   goalOf(2, 1), snap: placed(formed(2, 1).with("0a", outdated).with("0b", outdated).
				add(active(joining("0x", 0, "id-0a"))).add(active(joining("0y", 0, "id-0a"))),
				"1a=a/n1", "1b=b/n2", "0x=a/n1", "0y=b/n2"),
			want: []Action{
				Failover{Node: "0y", Mode: FailoverDefault, Shard: 0, Old: "0a", Why: "0a is outdated: the image differs"},
			},
		},
	})
}

// TestFormingSpread checks that the primaries of a new cluster are chosen so that
// none has to move after it has formed.
func TestFormingSpread(t *testing.T) {
	cases := map[string]struct {
		reason   string
		replicas int
		at       []string
		want     []string
	}{
		"FirstChoiceTakesWhatAnotherNeeds": {
			reason:   "Shard 2 can only lead where 0 or 1 could lead too.",
			replicas: 1,
			at:       []string{"0a=a/n1", "0b=b/n2", "1a=c/n3", "1b=b/n2", "2a=a/n1", "2b=c/n3"},
			want:     []string{"0b", "1a", "2a"},
		},
		"HostsOfAZone": {
			reason:   "Within a zone hosts count.",
			replicas: 1,
			at:       []string{"0a=a/n1", "0b=a/n2", "1a=a/n2", "1b=a/n3", "2a=a/n1", "2b=a/n2"},
			want:     []string{"0b", "1b", "2a"},
		},
		"NoChoice": {
			reason: "Without replicas the place is given.",
			at:     []string{"0a=a/n1", "1a=a/n1", "2a=b/n2"},
			want:   []string{"0a", "1a", "2a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &fixture{}
			for _, a := range tc.at {
				f.add(fresh(a[:2], int(a[0]-'0')))
			}
			var got []string
			for _, a := range Next(goalOf(3, tc.replicas), placed(f, tc.at...).snapshot()).Actions {
				if a, ok := a.(AddSlots); ok {
					got = append(got, a.Node)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nprimaries: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFormingNeedsNoMove checks with random places that what leads a new cluster is
// what is left alone when the cluster has formed.
func TestFormingNeedsNoMove(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		shards, replicas := 1+rnd.IntN(8), rnd.IntN(3)
		f := &fixture{}
		for i := range shards {
			for k := range replicas + 1 {
				m := fresh(fmt.Sprintf("%d%c", i, 'a'+k), i)
				host := rnd.IntN(6)
				m.Host, m.Zone = fmt.Sprintf("n%d", host), fmt.Sprintf("z%d", host%3)
				f.add(m)
			}
		}
		primaries := map[int]string{}
		for _, a := range Next(goalOf(shards, replicas), f.snapshot()).Actions {
			switch a := a.(type) {
			case AddSlots:
				primaries[len(primaries)] = a.Node
				f.with(a.Node, func(m *Member) { m.Process.Slots, m.Process.Epoch = NewSlotSet(a.Ranges...), a.Epoch })
			case Replicate:
				f.with(a.Node, func(m *Member) { follow(m, a.PrimaryID) })
			}
		}
		f.all(func(m *Member) { m.Phase = PhaseActive })
		for _, a := range Next(goalOf(shards, replicas), f.snapshot()).Actions {
			if a, ok := a.(Failover); ok {
				t.Fatalf("%d shards with %d replicas and primaries %v: %+v", shards, replicas, primaries, a)
			}
		}
	}
}

// TestRest checks that a cluster whose primaries could be spread better says for how
// much longer it has to be at rest, and what it does when it was.
func TestRest(t *testing.T) {
	type want struct {
		Reason, Message string
		Converged       bool
		Rest            time.Duration
	}
	const fine = "3 shards with 1 replicas each serve all 16384 slots"
	cases := map[string]struct {
		reason string
		snap   *fixture
		want   want
	}{
		"Soon": {
			reason: "Nothing is wrong with a cluster that waits.",
			snap:   crowded().with("2a", func(m *Member) { m.RoleAge = time.Second }),
			want:   want{ReasonConverged, fine, true, 24 * time.Second},
		},
		"Now": {
			reason: "It is told what is done.",
			snap:   crowded(),
			want:   want{ReasonBalancing, "1b is to become primary of shard 1: zone a has 2 primaries and c has 0", false, 0},
		},
		"Never": {
			reason: "Nothing is to be done where primaries are spread well.",
			snap:   formed(3, 1).with("2a", func(m *Member) { m.RoleAge = time.Second }),
			want:   want{ReasonConverged, fine, true, 0},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Next(goalOf(3, 1), tc.snap.snapshot())
			if diff := cmp.Diff(tc.want, want{p.Reason, p.Message, p.Converged, p.Rest}); diff != "" {
				t.Errorf("%s Next(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
