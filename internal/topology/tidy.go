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
	"slices"
	"time"
)

// ghosts returns the node ids that live members know but that are no members,
// sorted. Members that were retired and whose process is gone count too.
func (w *world) ghosts() []string {
	seen := map[string]bool{}
	ours := map[string]bool{}
	for _, m := range w.members {
		if m.Process != nil {
			// Its id may not be recorded yet.
			ours[m.Process.ID] = true
		}
	}
	for _, m := range w.live {
		for id, p := range m.Process.Peers {
			o := w.byID[id]
			// One that is only retired may still run: it would come back.
			if p.Handshake || ours[id] || (o != nil && (!o.Retired || o.Process != nil || !o.dead)) {
				continue
			}
			seen[id] = true
		}
	}
	var ids []string
	for id := range seen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// forgetGhosts removes nodes that are gone from every view. One that owns slots
// is left: its slots have to be given to somebody first.
func (w *world) forgetGhosts() {
	for _, id := range w.ghosts() {
		// A forgotten node that lives comes back, and it may only be missing
		// from an old list of members.
		if w.linked(id) {
			continue
		}
		if w.stale[id] != nil && w.followed(id) {
			continue
		}
		for _, m := range w.live {
			if _, ok := m.Process.Peers[id]; !ok || m.Process.PrimaryID == id {
				continue
			}
			name := ""
			if o := w.byID[id]; o != nil {
				name = o.Name
			}
			w.do(Forget{Node: m.Name, ID: id, Name: name})
		}
	}
}

// followed tells whether a live replica still has a node id as its primary.
func (w *world) followed(id string) bool {
	return slices.ContainsFunc(w.live, func(m *member) bool { return m.Process.PrimaryID == id })
}

// tune sets the timers of the members. While a cluster forms a low node timeout
// and no sync delay bring it up in a second instead of ten; afterwards, and
// whenever a crash left them behind, they are set back. A primary that has a
// member to sync does not wait for more of them to come: the members of a shard
// are made together.
func (w *world) tune() {
	timeout, delay := w.goal.NodeTimeout, w.goal.SyncDelay
	if w.forming && !w.settled() && !w.slotsWait() {
		timeout, delay = formingTimeout(len(w.members), timeout), 0
	}
	awaited := w.awaited()
	for _, m := range w.live {
		d := delay
		if awaited[m] {
			d = 0
		}
		if m.Process.NodeTimeout != timeout || m.Process.SyncDelay != d {
			w.do(Tune{Node: m.Name, NodeTimeout: timeout, SyncDelay: d})
		}
	}
}

// awaited returns the primaries that members of their shard have yet to sync with.
func (w *world) awaited() map[*member]bool {
	out := map[*member]bool{}
	for _, s := range w.shards {
		p := s.primary
		if p == nil {
			continue
		}
		out[p] = slices.ContainsFunc(s.live(), func(m *member) bool {
			return m != p && m.keep && (m.Process.PrimaryID != p.ID || !m.Process.LinkUp)
		})
	}
	return out
}

// formingTimeout is the node timeout for the time in which a cluster forms. Many
// processes that start together on few cores need more time to answer.
func formingTimeout(members int, normal time.Duration) time.Duration {
	low := 500 * time.Millisecond
	switch {
	case members > 24:
		low = 3 * time.Second
	case members > 12:
		low = time.Second
	}
	return min(low, normal)
}
