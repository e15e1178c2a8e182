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
	"time"
)

// restFor is how long all roles must be unchanged before primaries are moved for
// nothing but their spread. A server asks for votes once in 4 node timeouts
// (cluster_legacy.c of Valkey 8.0 to 9.1): one that lost its role to a move sooner
// than that after it won it could not take over at once if the new primary died.
func (w *world) restFor() time.Duration { return 4*w.goal.NodeTimeout + restMargin }

// restMargin covers what passes from an election until the role is seen.
const restMargin = 5 * time.Second

// balancePrimaries spreads primaries over zones and hosts, one at a time and only
// while nothing else is to be done. A roll chooses its successors so that seldom
// anything is left to do here.
func (w *world) balancePrimaries() {
	if !w.atRest() {
		return
	}
	best := w.bestMove()
	if best == nil {
		return
	}
	if w.plan.Rest = w.unrest(); w.plan.Rest > 0 {
		return
	}
	w.swap = best
	p, s := w.swap.shard.primary, w.swap.shard
	w.do(Failover{Node: w.swap.to.Name, Mode: FailoverDefault, Shard: s.index, Old: p.Name, Balance: true, Why: w.swap.why})
}

// unrest is how long it takes until all roles have been unchanged for long enough.
func (w *world) unrest() time.Duration {
	out := time.Duration(0)
	for _, m := range w.members {
		out = max(out, w.restFor()-m.RoleAge)
	}
	return out
}

// atRest tells whether the cluster is as it should be but for the spread of its
// primaries, with every replica in sync and every host fine.
func (w *world) atRest() bool {
	if reason, _ := w.explain(); reason != ReasonConverged || w.forming || !w.quorum() {
		return false
	}
	for _, s := range w.shards {
		if s.busy || len(w.ready(s)) != w.goal.Replicas+1 || len(s.members) != w.goal.Replicas+1 {
			return false
		}
	}
	return !slices.ContainsFunc(w.members, func(m *member) bool {
		return m.Phase != PhaseActive || m.Outdated != "" || m.HostLost
	})
}

// bestMove finds what the spread of primaries over zones and hosts gains most by.
// It returns nil if there is nothing to gain.
func (w *world) bestMove() *move {
	var open []seat
	for _, s := range w.shards {
		open = append(open, seat{shard: s, others: w.ready(s)})
	}
	return w.crowd().next(open)
}

func (w *world) explainBalance() (reason, message string) {
	if w.swap == nil {
		return "", ""
	}
	return ReasonBalancing, fmt.Sprintf("%s is to become primary of shard %d: %s", w.swap.to.Name, w.swap.shard.index, w.swap.why)
}
