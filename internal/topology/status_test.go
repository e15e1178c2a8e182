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

func TestStatus(t *testing.T) {
	type want struct {
		Reason    string
		Message   string
		Formed    bool
		Active    bool
		Converged bool
	}
	cases := map[string]struct {
		reason string
		goal   Goal
		snap   *fixture
		want   want
	}{
		"Converged": {
			reason: "A healthy cluster has nothing to do.",
			goal:   goalOf(3, 1), snap: formed(3, 1),
			want: want{Reason: ReasonConverged, Message: "3 shards with 1 replicas each serve all 16384 slots", Formed: true, Active: true, Converged: true},
		},
		"Nothing": {
			reason: "A new cluster starts its members.",
			goal:   goalOf(3, 1), snap: &fixture{},
			want: want{Reason: ReasonStarting, Message: "0 of 6 members run"},
		},
		"Unschedulable": {
			reason: "A stalled roll says why, and the cluster still serves as asked.",
			goal:   goalOf(2, 0), snap: formed(2, 0).all(outdated).add(func() Member {
				m := pending("0x", 0)
				m.PodMessage = "0/3 nodes are available"
				return m
			}()),
			want: want{Reason: ReasonStarting, Message: "1 of 2 members run; waiting for 0x: 0/3 nodes are available; it is to replace 0a: the image differs", Formed: true, Active: true},
		},
		"PrimaryHangs": {
			reason: "It is told whose failover is awaited.",
			goal:   goalOf(3, 1), snap: formed(3, 1).lose("1a"),
			want: want{
				Reason: ReasonHealing, Formed: true,
				Message: "primary 1a of shard 1 does not answer; waiting for it or for Valkey's own failover",
			},
		},
		"Stranger": {
			reason: "A node of another cluster is told, also if it has no slots.",
			goal:   goalOf(1, 0), snap: formed(1, 0).add(fresh("x", 0)).unlist("x"),
			want: want{
				Reason: ReasonLeaving, Formed: true, Active: true,
				Message: "node id-x, one of 1 that members know, is not a member of this cluster; it is forgotten once it has stopped",
			},
		},
		"ReplicaMissing": {
			reason: "A cluster with a replica too few is not Active.",
			goal:   goalOf(1, 1), snap: formed(1, 1).with("0b", func(m *Member) { m.Process.LinkUp = false }),
			want: want{Reason: ReasonJoining, Message: "0 of 1 replicas of shard 0 are in sync", Formed: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Next(tc.goal, tc.snap.snapshot())
			got := want{p.Reason, p.Message, p.Formed, p.Active, p.Converged}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nNext(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
