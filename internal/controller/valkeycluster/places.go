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
	"context"
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/catalog"
	"github.com/crossplane-contrib/provider-valkey/internal/fleet"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

const (
	// surveyFor is how long what was found of all clusters is used again. Hundreds
	// of clusters may ask for a place in the same moment.
	surveyFor = time.Second
	// keptFor is how long a place is kept for a cluster whose passes fail.
	keptFor = time.Minute
)

// places hand out the places of those clusters that may roll at once. Who has one
// is in the statuses of the clusters; a provider that starts anew reads it there.
type places struct {
	limit    int
	clusters client.Reader

	mu sync.Mutex
	// claims are places that were given and that the cache does not show yet.
	claims map[types.NamespacedName]metav1.Time
	// kept is since when places are kept for clusters that have not come.
	kept  map[types.NamespacedName]time.Time
	found []fleet.Cluster
	at    time.Time
}

// newPlaces returns nil, which bounds nothing, for a limit of 0.
func newPlaces(limit int, clusters client.Reader) *places {
	if limit <= 0 {
		return nil
	}
	return &places{limit: limit, clusters: clusters, claims: map[types.NamespacedName]metav1.Time{}, kept: map[types.NamespacedName]time.Time{}}
}

// ask returns since when the cluster has a place, or nil, and the line. A place
// that was just given must not be used before it is in the cluster's status: it
// would be lost with the provider, and given to another cluster as well.
func (p *places) ask(ctx context.Context, c *v1alpha1.ValkeyCluster, now time.Time) (*metav1.Time, fleet.Line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.at) > surveyFor || !slices.ContainsFunc(p.found, func(f fleet.Cluster) bool { return key(f) == client.ObjectKeyFromObject(c) }) {
		if err := p.survey(ctx, now); err != nil {
			return nil, fleet.Line{}, err
		}
	}
	k := client.ObjectKeyFromObject(c)
	delete(p.kept, k)
	l := p.form(now)
	if since, ok := p.claims[k]; ok {
		return &since, l, nil
	}
	if !l.IsNext(c.GetNamespace(), c.GetName()) {
		return nil, l, nil
	}
	since := metav1.NewTime(now.Truncate(time.Second))
	p.claims[k] = since
	return &since, p.form(now), nil
}

// line returns who rolls and who waits.
func (p *places) line(ctx context.Context, now time.Time) (fleet.Line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.survey(ctx, now); err != nil {
		return fleet.Line{}, err
	}
	return p.form(now), nil
}

// leave takes a cluster out of the line.
func (p *places) leave(k types.NamespacedName) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.claims, k)
	delete(p.kept, k)
}

// form lines up what was found.
func (p *places) form(now time.Time) fleet.Line {
	cs := slices.Clone(p.found)
	for i := range cs {
		if _, ok := p.claims[key(cs[i])]; ok && cs[i].Wants {
			cs[i].Holds = true
		}
		since, ok := p.kept[key(cs[i])]
		cs[i].Absent = ok && now.Sub(since) > keptFor
	}
	l := fleet.Form(p.limit, cs)
	for _, c := range l.Waiting {
		_, ok := p.kept[key(c)]
		switch next := l.IsNext(c.Namespace, c.Name); {
		case next && !ok:
			p.kept[key(c)] = now
		case !next && !c.Absent:
			delete(p.kept, key(c))
		}
	}
	return l
}

func key(c fleet.Cluster) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

// survey finds out from the cache which clusters want to roll.
func (p *places) survey(ctx context.Context, now time.Time) error {
	cat, err := readCatalog(ctx, p.clusters)
	if err != nil {
		return err
	}
	cs, ns := &v1alpha1.ValkeyClusterList{}, &v1alpha1.ValkeyNodeList{}
	// There may be thousands of them, and nothing is changed here.
	shared := client.UnsafeDisableDeepCopy
	if err := p.clusters.List(ctx, cs, shared); err != nil {
		return err
	}
	if err := p.clusters.List(ctx, ns, shared); err != nil {
		return err
	}
	members := map[types.UID][]*v1alpha1.ValkeyNode{}
	for i := range ns.Items {
		if o := metav1.GetControllerOf(&ns.Items[i]); o != nil {
			members[o.UID] = append(members[o.UID], &ns.Items[i])
		}
	}
	p.found, p.at = nil, now
	for i := range cs.Items {
		f := describeRoll(&cs.Items[i], cat, members[cs.Items[i].UID])
		if f.Wants || f.Holds {
			p.found = append(p.found, f)
		}
		if f.Holds {
			delete(p.claims, key(f))
		}
	}
	return nil
}

// describeRoll says whether a cluster rolls or wants to.
func describeRoll(c *v1alpha1.ValkeyCluster, cat catalog.Catalog, members []*v1alpha1.ValkeyNode) fleet.Cluster {
	out := fleet.Cluster{Namespace: c.Namespace, Name: c.Name, Created: c.CreationTimestamp.Time, Holds: holdsPlace(c)}
	out.Priority, _ = fleet.Priority(c.Annotations[manifest.AnnotationRollPriority])
	if !mayRoll(c) || len(members) == 0 {
		return out
	}
	r, err := resolveConfig(c, cat)
	if err != nil {
		// It is Invalid, or will be with its next pass.
		return out
	}
	t := newTemplate(c, r)
	staying, _ := apart(members)
	n, _ := t.differing(staying)
	out.Wants = n > 0
	if roll := c.Status.Roll; out.Wants && roll != nil && roll.StalledFor == t.hash() {
		out.Stalled = true
		if roll.StalledAt != nil {
			out.StalledAt = roll.StalledAt.Time
		}
	}
	return out
}

// mayRoll tells whether passes of a cluster would replace its members.
func mayRoll(c *v1alpha1.ValkeyCluster) bool {
	return !meta.WasDeleted(c) && !meta.IsPaused(c) && acts(c) && c.Status.State == v1alpha1.StateActive
}

// acts tells whether the provider may change anything of a cluster.
func acts(c *v1alpha1.ValkeyCluster) bool {
	ps := c.GetManagementPolicies()
	return len(ps) == 0 || slices.Contains(ps, xpv2.ManagementActionAll) || slices.Contains(ps, xpv2.ManagementActionUpdate)
}

// holdsPlace tells whether a cluster has a place that counts. One that is paused
// gives it to others in the meantime.
func holdsPlace(c *v1alpha1.ValkeyCluster) bool {
	return mayRoll(c) && c.Status.Roll != nil && c.Status.Roll.Since != nil
}

// wakes has the next clusters looked at when a place becomes free.
func (p *places) wakes() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(ctx context.Context, q queue) {
		l, err := p.line(ctx, time.Now())
		if err != nil {
			return // They look again with the next poll.
		}
		for _, c := range l.Next() {
			q.Add(reconcile.Request{NamespacedName: key(c)})
		}
	}
	held := func(o client.Object) bool {
		c, ok := o.(*v1alpha1.ValkeyCluster)
		return ok && holdsPlace(c)
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if held(e.ObjectOld) && !held(e.ObjectNew) {
				wake(ctx, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			p.leave(client.ObjectKeyFromObject(e.Object))
			if held(e.Object) {
				wake(ctx, q)
			}
		},
	}
}
