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
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/metrics"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// orderedFor is how long a promotion counts as the result of an order.
const orderedFor = time.Minute

// measure shows the metrics how the cluster was found.
func (e *external) measure(c *v1alpha1.ValkeyCluster) {
	f := e.found
	p := metrics.Picture{
		Namespace: c.GetNamespace(), Name: c.GetName(), State: string(c.Status.State),
		Converged: f.plan.Converged, Serving: f.plan.Serving, SlotsMoving: f.plan.SlotsToMove,
		Wanted: int(c.Spec.Shards) * (int(c.Spec.ReplicasPerShard) + 1),
	}
	var slots topology.SlotSet
	for _, n := range f.nodes {
		p.Members = append(p.Members, n.measure(f.nodes))
		if n.err != nil {
			e.measureError(c, n.err)
		}
		if n.state == nil || n.state.Replication.Role != valkey.RolePrimary {
			continue
		}
		slots.AddRanges(ranges(n.ownSlots()))
		p.Keys += n.state.Keys
		p.UsedMemory += n.state.UsedMemory
		p.MaxMemory += n.state.MaxMemory
	}
	p.SlotsAssigned = slots.Len()
	if f.template == nil {
		// An Invalid cluster is not planned for, but may well serve.
		p.Serving = p.SlotsAssigned == topology.SlotCount
	}
	for _, m := range f.members {
		if m.Outdated != "" && !m.Retired {
			p.Outdated++
		}
	}
	if f.resolved != nil && c.Spec.TLS != nil {
		p.Certificate = f.resolved.cert.NotAfter
	}
	p.Waiting = f.place.waits && !f.place.soon
	if f.place.waits {
		p.Outdated = f.place.differ
	}
	e.options.Metrics.Show(string(c.GetUID()), p)
}

// measure says what counts of a member, one of some.
func (n *node) measure(all []*node) metrics.Member {
	m := metrics.Member{
		Role: string(n.role()), Lifecycle: string(cmp.Or(n.obj.Spec.Lifecycle, v1alpha1.LifecycleActive)), Answers: n.state != nil,
		Name: n.obj.Name, Shard: int(n.obj.Spec.ShardIndex),
	}
	st := n.state
	if st == nil || st.Stats == nil {
		return m
	}
	m.Version = st.Version
	m.Node = &metrics.Node{
		UsedMemory: st.UsedMemory, MaxMemory: st.MaxMemory, Keys: st.Keys, Clients: st.Stats.Clients, Commands: st.Stats.Commands,
		Hits: st.Stats.Hits, Misses: st.Stats.Misses, Evicted: st.Stats.Evicted,
	}
	if st.Replication.Role == valkey.RoleReplica {
		m.Node.Replica = &metrics.Replica{LinkUp: st.Replication.LinkUp, Lag: n.lag(all)}
	}
	return m
}

// lag returns by how many bytes a replica is behind its primary, or -1. The two are
// asked at the same time, but not in the same instant.
func (n *node) lag(all []*node) int64 {
	me := n.myself()
	for _, p := range all {
		if p.state != nil && me != nil && p.state.ID == me.PrimaryID && p.state.Replication.ID == n.state.Replication.ID {
			return max(0, p.state.Replication.Offset-n.state.Replication.Offset)
		}
	}
	return -1
}

// measureCreation takes the time that a new cluster took to become Active. One
// that comes back from Invalid is not Creating in between for others to see.
func (e *external) measureCreation(c *v1alpha1.ValkeyCluster, now time.Time) {
	if c.GetCondition(xpv2.TypeReady).Reason == xpv2.ReasonCreating {
		e.options.Metrics.BecameActive(now.Sub(c.GetCreationTimestamp().Time))
	}
}

// measureFailover counts a member that was promoted, by who wanted that.
func (e *external) measureFailover(c *v1alpha1.ValkeyCluster, member string) {
	e.options.Metrics.Failover(string(c.GetUID()), e.promotedBy(c, member))
}

func (e *external) promotedBy(c *v1alpha1.ValkeyCluster, member string) string {
	for mode, cause := range map[topology.FailoverMode]string{
		topology.FailoverDefault:  metrics.CausePlanned,
		topology.FailoverForce:    metrics.CauseForced,
		topology.FailoverTakeover: metrics.CauseTakeover,
	} {
		if e.memory.cooling(c, failoverKey(member, mode), orderedFor) {
			return cause
		}
	}
	return metrics.CauseValkey
}

// measureError counts a command that failed.
func (e *external) measureError(c *v1alpha1.ValkeyCluster, err error) {
	if kind := errorKind(err); kind != "" {
		e.options.Metrics.CommandError(string(c.GetUID()), kind)
	}
}

// errorKind returns empty for what is no failure: that gossip has not brought
// some news yet.
func errorKind(err error) string {
	switch {
	case valkey.IsTLS(err):
		return metrics.ErrorTLS
	case valkey.IsAuth(err), valkey.IsNoPerm(err):
		return metrics.ErrorDenied
	case valkey.IsUnreachable(err):
		return metrics.ErrorUnreachable
	case passing(err):
		return ""
	}
	return metrics.ErrorOther
}

// forgets drops what is remembered of a cluster that is gone.
func forgets(mem *memory, m *metrics.Clusters) handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		mem.forget(e.Object)
		m.Forget(string(e.Object.GetUID()))
	}}
}
