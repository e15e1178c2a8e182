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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A fixture builds a snapshot for a test, from what the members really are.
type fixture struct {
	members  []Member
	unlisted []string
	views    []func(by string, of string, p *Peer) bool
}

// goalOf returns a goal whose new members are named n<shard>-<k>.
func goalOf(shards, replicas int) Goal {
	return Goal{
		Shards: shards, Replicas: replicas, NodeTimeout: 5 * time.Second, SyncDelay: 5 * time.Second,
		NewName: func(shard, k int) string { return fmt.Sprintf("n%d-%d", shard, k) },
	}
}

// formed returns a healthy cluster. Members are named <shard><letter>, the first
// one of each shard is its primary.
func formed(shards, replicas int) *fixture {
	f := &fixture{}
	for i, r := range EvenRanges(shards) {
		for k := range replicas + 1 {
			m := fresh(fmt.Sprintf("%d%c", i, 'a'+k), i)
			m.Phase = PhaseActive
			m.Process.Offset, m.Process.Keys = 1000, 500
			if k == 0 {
				m.Process.Slots = NewSlotSet(r)
				m.Process.Epoch = uint64(i + 1)
			} else {
				follow(&m, fmt.Sprintf("id-%da", i))
			}
			f.members = append(f.members, m)
		}
	}
	return f
}

// fresh returns a member that runs, is recorded and knows nobody.
func fresh(name string, shard int) Member {
	return Member{
		Name: name, Shard: shard, ID: "id-" + name, Phase: PhaseJoining, Pod: PodRunning, PodAge: time.Minute, RoleAge: time.Minute,
		IP: "10.0.0." + name, Host: "h-" + name, Zone: "z",
		Process: &Process{
			ID: "id-" + name, Version: "9.1.2", AtomicMigration: true, Primary: true, ClusterOK: true,
			NodeTimeout: 5 * time.Second, SyncDelay: 5 * time.Second,
		},
	}
}

// follow makes a member a replica in sync.
func follow(m *Member, primaryID string) {
	m.Process.Primary, m.Process.PrimaryID, m.Process.LinkUp = false, primaryID, true
}

// add adds a member that is part of the cluster.
func (f *fixture) add(m Member) *fixture {
	f.members = append(f.members, m)
	return f
}

// with changes one member.
func (f *fixture) with(name string, change func(m *Member)) *fixture {
	for i := range f.members {
		if f.members[i].Name == name {
			change(&f.members[i])
		}
	}
	return f
}

// all changes all members.
func (f *fixture) all(change func(m *Member)) *fixture {
	for i := range f.members {
		change(&f.members[i])
	}
	return f
}

// view changes how members see each other. It returns false for "not at all".
func (f *fixture) view(change func(by, of string, p *Peer) bool) *fixture {
	f.views = append(f.views, change)
	return f
}

// strangers makes members that know nobody and that nobody knows.
func (f *fixture) strangers(names ...string) *fixture {
	return f.view(func(by, of string, _ *Peer) bool {
		for _, n := range names {
			if by == n || of == n {
				return false
			}
		}
		return true
	})
}

// crash kills a member: Kubernetes knows, and so does everybody.
func (f *fixture) crash(names ...string) *fixture {
	for _, name := range names {
		f.with(name, func(m *Member) { m.Pod, m.PodAge, m.Refused = PodDead, time.Minute, true })
		f.lose(name)
	}
	return f
}

// lose cuts a member off: nobody hears of it any more.
func (f *fixture) lose(name string) *fixture {
	return f.with(name, func(m *Member) { m.PodMessage = "lost" })
}

// unlist makes members that others know none of ours: strangers, or ones whose
// record is gone.
func (f *fixture) unlist(names ...string) *fixture {
	f.unlisted = append(f.unlisted, names...)
	return f
}

// snapshot works out what everybody sees.
func (f *fixture) snapshot() Snapshot {
	s := Snapshot{}
	gone := map[string]bool{}
	for _, m := range f.members {
		gone[m.ID] = m.PodMessage == "lost"
	}
	for i := range f.members {
		m := f.members[i]
		if m.Process != nil {
			p := *m.Process
			p.Peers = map[string]Peer{}
			for j := range f.members {
				if o := &f.members[j]; i != j && o.Process != nil && o.ID != "" {
					f.see(&m, o, gone[o.ID], p.Peers)
				}
			}
			if gone[p.PrimaryID] {
				p.LinkUp = false
			}
			m.Process = &p
		}
		if gone[m.ID] {
			m.Process = nil
		}
		if !slices.Contains(f.unlisted, m.Name) {
			s.Members = append(s.Members, m)
		}
	}
	return s
}

func (f *fixture) see(m, o *Member, gone bool, peers map[string]Peer) {
	p := Peer{IP: o.IP, Primary: o.Process.Primary, PrimaryID: o.Process.PrimaryID, LinkUp: !gone, Fail: gone, Slots: o.Process.Slots.Ranges()}
	for _, v := range f.views {
		if !v(m.Name, o.Name, &p) {
			return
		}
	}
	peers[o.ID] = p
}

// A planCase is one row of a table of plans.
type planCase struct {
	reason string
	goal   Goal
	snap   *fixture
	want   []Action
}

// testPlans checks the actions of plans.
func testPlans(t *testing.T, cases map[string]planCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Next(tc.goal, tc.snap.snapshot())
			if diff := cmp.Diff(tc.want, got.Actions); diff != "" {
				t.Errorf("%s\nNext(...): -want, +got actions:\n%s\n%s: %s", tc.reason, diff, got.Reason, got.Message)
			}
		})
	}
}

// everywhere returns a Forget of a member by each of the others.
func everywhere(gone string, by ...string) []Action {
	var as []Action
	for _, n := range by {
		as = append(as, Forget{Node: n, ID: "id-" + gone, Name: gone})
	}
	return as
}

// hurry lets a primary sync a member without waiting for others.
func hurry(primary string) Tune { return Tune{Node: primary, NodeTimeout: 5 * time.Second} }
