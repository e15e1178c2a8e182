//go:build server

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

package valkeycluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// An address that a cluster's member had is given to a member of another cluster,
// before Kubernetes tells the first one's provider. The clusters stay two, and no
// replica follows the stranger, which would empty it.
func TestAddressGoesToAnotherCluster(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		ours, theirs := newRig(t, v, 3, 1), newRig(t, v, 1, 0)
		ourData, theirData := ours.fill(1000), theirs.fill(1000)
		victim := ours.primary(0)
		ours.servers[victim].Kill()
		theirs.at = ours.servers[victim].IP
		theirs.scale(1, 1)
		theirs.until("the newcomer to follow", func(p topology.Plan) bool {
			for _, a := range ours.pass().Actions {
				if m, ok := a.(topology.Meet); ok && m.ToIP == ours.servers[victim].IP {
					t.Errorf("an address is met that has another cluster's node: %s", m)
				}
			}
			return p.Converged
		})
		if !ours.heard(victim, "WRONGPASS") {
			t.Errorf("nobody is told that another server answers in the place of %s: %q", victim, ours.told)
		}
		ours.ended(victim)
		ours.converge()
		for _, r := range []*rig{ours, theirs} {
			for name := range r.pods {
				if diff := cmp.Diff(r.ids(), r.known(name)); diff != "" {
					t.Errorf("nodes that %s knows: -members of its cluster, +got:\n%s", name, diff)
				}
			}
		}
		ours.intact(ourData)
		theirs.intact(theirData)
	})
}

// A member is not introduced when another server has its address by then, be it of
// another cluster or one of our own.
func TestMeetRefusesStrangers(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		ours, theirs := newRig(t, v, 2, 0), newRig(t, v, 1, 0)
		from, to, stranger := ours.primary(0), ours.primary(valkey.SlotCount-1), theirs.primary(0)
		cases := map[string]struct {
			reason string
			ip     string
			class  func(error) bool
		}{
			"OtherCluster": {"It has other passwords.", theirs.servers[stranger].IP, valkey.IsAuth},
			"OwnCluster":   {"It has another node id.", ours.servers[from].IP, valkey.IsOtherNode},
		}
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				ours.look()
				for _, n := range ours.e.found.nodes {
					if n.obj.GetName() == to {
						n.pod.Status.PodIP = tc.ip
					}
				}
				err := ours.e.command(t.Context(), ours.c, topology.Meet{From: from, To: to, ToID: ours.id(to), ToIP: tc.ip})
				if !tc.class(err) {
					t.Errorf("%s\nMEET of a stranger: got error %v", tc.reason, err)
				}
				// A server has an entry for a node that it is told to meet at once.
				if diff := cmp.Diff(ours.ids(), ours.known(from)); diff != "" {
					t.Errorf("%s\nnodes that %s knows: -want, +got:\n%s", tc.reason, from, diff)
				}
			})
		}
	})
}

// Two clusters that somebody merged by hand are told apart: the strangers are
// reported, and neither used nor forgotten.
func TestMergedClustersAreReported(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		ours, theirs := newRig(t, v, 2, 0), newRig(t, v, 1, 0)
		stranger := theirs.primary(0)
		must(t, ours.servers[ours.primary(0)].Node().Meet(t.Context(), theirs.servers[stranger].IP, valkeyserver.Port))
		ours.until("the stranger to be known", func(topology.Plan) bool {
			for name := range ours.pods {
				if !slices.Contains(ours.known(name), theirs.id(stranger)) {
					return false
				}
			}
			return true
		})
		for _, a := range ours.passes(2 * time.Second) {
			if _, ok := a.(topology.Forget); ok {
				t.Errorf("a node that lives is forgotten: %s", a)
			}
		}
		// By now the clusters have agreed who has which slot: it may have none.
		p := ours.look()
		if told := ours.c.Status.GetCondition(TypeConverged).Message; p.Converged || !strings.Contains(told, theirs.id(stranger)) || !strings.Contains(told, "not a member of this cluster") {
			t.Errorf("node %s is not reported: %s", theirs.id(stranger), told)
		}
	})
}

// A node that was forgotten stays away, also when one server did not answer while
// the others forgot it.
func TestForgottenNodesStayAway(t *testing.T) {
	const ban = 2 * time.Second
	onVersions(t, []string{"9.1"}, func(t *testing.T, v string) {
		r := newRig(t, v, 3, 1, setting("cluster-blacklist-ttl", "2"))
		hung := r.primary(0)
		var gone []string
		for name := range r.pods {
			if s := r.servers[name]; r.primary(valkey.SlotCount-1) == followed(r, name) {
				gone = append(gone, r.id(name))
				s.Kill()
				r.ended(name)
				break
			}
		}
		r.servers[hung].Pause()
		forgotten := func(but string) func(topology.Plan) bool {
			return func(topology.Plan) bool {
				for name := range r.pods {
					if name != but && name != "" && r.pods[name].obj.Status.NodeID != gone[0] && slices.Contains(r.known(name), gone[0]) {
						return false
					}
				}
				return true
			}
		}
		r.until("all that answer to forget", forgotten(hung))
		r.servers[hung].Resume()
		r.converge()
		// The one that hung still knew the node, and tells others once their ban is over.
		r.passes(2 * ban)
		r.converge()
		r.passes(2 * ban)
		for name := range r.pods {
			if slices.Contains(r.known(name), gone[0]) {
				t.Errorf("%s still knows a node that is gone", name)
			}
		}
	})
}

// followed returns the name of the primary that a member follows.
func followed(r *rig, name string) string {
	r.Helper()
	r.look()
	id := ""
	for _, n := range r.e.found.nodes {
		if n.obj.GetName() == name && n.state != nil {
			id = n.myself().PrimaryID
		}
	}
	for _, n := range r.e.found.nodes {
		if id != "" && n.id() == id {
			return n.obj.GetName()
		}
	}
	return ""
}

// That a node which is forgotten while it runs comes back is why members are only
// forgotten after they stopped.
func TestForgottenNodesThatRunComeBack(t *testing.T) {
	r := newRig(t, "9.1", 3, 0, setting("cluster-blacklist-ttl", "1"))
	victim := r.primary(0)
	id := r.id(victim)
	for name := range r.pods {
		if name != victim {
			must(t, r.servers[name].Node().Forget(t.Context(), id))
		}
	}
	valkeyserver.Await(t, patience, "the forgotten node to be back", func() string {
		for name := range r.pods {
			if !slices.Contains(r.known(name), id) {
				return name + " does not know it"
			}
		}
		return ""
	})
}
