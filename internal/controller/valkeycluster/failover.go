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
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

const (
	// gossipPatience bounds how long a handover waits in one pass until all members
	// of the shard know that its two sides belong together. They hear of each other
	// within half a node timeout.
	gossipPatience = 1500 * time.Millisecond
	// manualFailover is how long a server tries to carry out CLUSTER FAILOVER
	// (CLUSTER_MF_TIMEOUT of Valkey 8.0 to 9.1).
	manualFailover = 5 * time.Second
	// gossipInterval is how often they are asked meanwhile.
	gossipInterval = 100 * time.Millisecond
	// turnPatience bounds how long the failovers of other shards wait for one. It
	// takes some 10 ms.
	turnPatience = time.Second
	// turnInterval is how often its heir is asked meanwhile.
	turnInterval = 5 * time.Millisecond
)

// A turn lets the failovers of a pass happen one after the other. A primary votes once
// in an epoch: of several elections at once all but one may be denied, and clients of
// their shards are paused until they are held again (clusterSendFailoverAuthIfNeeded of
// Valkey 8.0 to 9.1).
type turn struct {
	mu sync.Mutex
	// over means that one did not happen in time, so that no other one waits.
	over bool
}

// take does what orders a failover, and waits until it has happened.
func (t *turn) take(ctx context.Context, order func() error, done func(context.Context) (bool, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := order(); err != nil {
		return err
	}
	if !t.over {
		t.over = wait.PollUntilContextTimeout(ctx, turnInterval, turnPatience, true, done) != nil
	}
	return nil
}

// failOver orders a failover when it is its turn. The replica is asked again first:
// since it answered last, another one may have been promoted, which it follows now. It
// would take over from that one.
func (e *external) failOver(ctx context.Context, n *valkey.Node, a topology.Failover) error {
	order := func() error {
		st, err := n.State(ctx)
		if err != nil {
			return err
		}
		if now := (&node{state: st}).myself(); now != nil && !e.found.isMember(a.Old, now.PrimaryID) {
			return fmt.Errorf("%s does not follow %s any more", a.Node, a.Old)
		}
		return n.Failover(ctx, failoverMode(a.Mode))
	}
	leads := func(ctx context.Context) (bool, error) {
		info, err := n.Info(ctx, "replication")
		if err != nil {
			return false, err
		}
		r, err := valkey.ParseReplication(info)
		return r.Role == valkey.RolePrimary, err
	}
	return e.turn.take(ctx, order, leads)
}

// awaitOneShard waits until every other member that follows the old primary, or is
// about to, takes it and the new one for members of one shard. A server that has met
// them lately may not: when it hears then that the old one follows the new one, it
// believes that each follows the other, and runs in circles for ever
// (clusterNodeGetPrimary of Valkey 8.0 to 9.1, reached from updateShardId).
//
// A pod that stops soon does not wait: a newcomer is less than what its primary has.
func (e *external) awaitOneShard(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.Failover) error {
	old, heir := e.found.member(a.Old), e.found.member(a.Node)
	if a.Mode != topology.FailoverDefault || old == nil || heir == nil || stopsSoon(old.pod, time.Now()) {
		return nil
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, gossipInterval, gossipPatience, true, func(ctx context.Context) (bool, error) {
		last = each(e.found.followers(old, heir), func(n *node) error {
			same, err := e.conn(c, n).Expecting(n.id()).SameShard(ctx, old.id(), heir.id())
			if err == nil && !same {
				err = fmt.Errorf("member %s has not heard yet that %s and %s are of one shard", n.obj.GetName(), a.Old, a.Node)
			}
			return err
		})
		return last == nil, nil
	})
	return cmp.Or(last, err)
}

// stopsSoon tells whether half of the time has passed for which a pod goes on serving
// after somebody deleted it.
func stopsSoon(p *corev1.Pod, now time.Time) bool {
	if p == nil || p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil {
		return false
	}
	grace := time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
	serves := min(grace, manifest.HandOver)
	return now.Sub(p.DeletionTimestamp.Add(-grace)) >= serves/2
}

// followers returns the members that answer and follow a primary, or are about to,
// but for one.
func (f *findings) followers(primary, but *node) []*node {
	joins := func(n *node) bool {
		return slices.ContainsFunc(f.plan.Actions, func(a topology.Action) bool {
			r, ok := a.(topology.Replicate)
			return ok && r.Node == n.obj.GetName() && r.PrimaryID == primary.id()
		})
	}
	var out []*node
	for _, n := range f.nodes {
		if n == but || n == primary || n.state == nil || !reachable(n) {
			continue
		}
		if me := n.myself(); joins(n) || (me != nil && me.PrimaryID == primary.id()) {
			out = append(out, n)
		}
	}
	return out
}

// handingOver tells whether another member of a primary's shard was told a moment ago
// to take over from it. Who follows it now would hear the news in the wrong order, as
// awaitOneShard says.
func (e *external) handingOver(c *v1alpha1.ValkeyCluster, primary string) bool {
	p := e.found.member(primary)
	return p != nil && slices.ContainsFunc(e.found.nodes, func(n *node) bool {
		return n != p && n.obj.Spec.ShardIndex == p.obj.Spec.ShardIndex &&
			e.memory.cooling(c, failoverKey(n.obj.GetName(), topology.FailoverDefault), failoverPatience)
	})
}

// ordered tells whether a failover need not, or must not, be ordered now. One that
// was ordered a moment ago is under way. Nor may another replica of the shard be told
// to hand over as long as the first one may still take over: it would do so after it,
// for nothing.
func (e *external) ordered(c *v1alpha1.ValkeyCluster, a topology.Failover) bool {
	if e.memory.cooling(c, failoverKey(a.Node, a.Mode), failoverPatience) {
		return true
	}
	if a.Mode != topology.FailoverDefault {
		return false
	}
	return slices.ContainsFunc(e.found.nodes, func(n *node) bool {
		name := n.obj.GetName()
		return name != a.Node && int(n.obj.Spec.ShardIndex) == a.Shard &&
			e.memory.cooling(c, failoverKey(name, topology.FailoverDefault), manualFailover)
	})
}

// failoverKey is what the memory knows an order by.
func failoverKey(name string, mode topology.FailoverMode) string { return name + string(mode) }

// isMember tells whether a node id is that of a member, as far as that is known.
func (f *findings) isMember(name, id string) bool {
	n := f.member(name)
	return n == nil || n.id() == id
}

func failoverMode(m topology.FailoverMode) valkey.FailoverMode {
	switch m {
	case topology.FailoverForce:
		return valkey.FailoverForce
	case topology.FailoverTakeover:
		return valkey.FailoverTakeover
	case topology.FailoverDefault:
	}
	return valkey.FailoverDefault
}
