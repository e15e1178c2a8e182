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
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/fleet"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// ReasonWaiting is the reason of the condition Converged while a cluster would
// replace members, but too many other clusters do.
const ReasonWaiting = "WaitingForPlace"

// A place is what a pass knows of the cluster's turn to replace its members.
type place struct {
	// waits means that the members are left as they are for now.
	waits bool
	// soon means that the next pass knows more: a place was just given, or the cache
	// does not show yet that the cluster wants one.
	soon bool
	// roll is what the status says of it.
	roll *v1alpha1.Roll
	// differ of all members have to be replaced, and why.
	differ, all int
	why         string
	line        fleet.Line
	// bad says what is wrong with the priority that was asked for.
	bad error
}

// takePlace finds out whether it is the cluster's turn. A member on a cordoned
// Kubernetes node waits for nobody, since whoever drains nodes has a pace of his
// own; nor does anything that is not a replacement for a planned change.
func (e *external) takePlace(ctx context.Context, c *v1alpha1.ValkeyCluster, t transition, now time.Time) error {
	f := &e.found
	f.place = place{}
	k := client.ObjectKeyFromObject(c)
	if e.places == nil || t.State != v1alpha1.StateActive || !acts(c) {
		e.places.leave(k)
		return nil
	}
	var members []*v1alpha1.ValkeyNode
	for _, n := range f.nodes {
		members = append(members, n.obj)
	}
	staying, leaving := apart(members)
	p := place{all: len(staying)}
	p.differ, p.why = f.template.differing(staying)
	left, _ := f.template.differing(leaving)
	had := c.Status.Roll
	switch {
	case had != nil && had.Since != nil && p.differ+left > 0:
		p.roll = &v1alpha1.Roll{Since: had.Since}
		f.place = p
		return nil
	case p.differ == 0:
		e.places.leave(k)
		return nil
	}
	p.waits = true
	since, line, err := e.places.ask(ctx, c, now)
	if err != nil {
		return fmt.Errorf("cannot look whether it is the cluster's turn to roll: %w", err)
	}
	_, waits := line.Before(c.GetNamespace(), c.GetName())
	p.line, p.soon = line, since != nil || !waits
	switch {
	case since != nil:
		p.roll = &v1alpha1.Roll{Since: since}
		e.memory.idle(c, "", now)
	case had != nil && had.StalledFor == f.template.hash():
		p.roll = had.DeepCopy()
	}
	_, p.bad = fleet.Priority(c.Annotations[manifest.AnnotationRollPriority])
	f.place = p
	return nil
}

// giveUpPlace tells whether the roll has made no progress for so long that another
// cluster gets its place. What has been replaced stays; what waits to take the place
// of another member goes. As long as nobody else waits it keeps trying.
func (e *external) giveUpPlace(ctx context.Context, c *v1alpha1.ValkeyCluster, now time.Time) (bool, error) {
	f := &e.found
	if f.place.roll == nil || f.place.waits {
		return false, nil
	}
	patience := e.options.RollPatience
	if f.syncs() {
		patience *= syncFactor
	}
	if idle := e.memory.idle(c, f.pulse(), now); patience <= 0 || idle < patience {
		return false, nil
	}
	line, err := e.places.line(ctx, now)
	if err != nil || !line.Crowded() {
		return false, err
	}
	f.place.waits, f.place.line = true, line
	f.place.roll = &v1alpha1.Roll{Stalled: f.plan.Message, StalledFor: f.template.hash(), StalledAt: new(metav1.NewTime(now))}
	e.record.Event(c, event.Warning("RollStalled", fmt.Errorf("no progress for %s, so that another cluster gets the place: %s", e.options.RollPatience, f.plan.Message)))
	return true, nil
}

// syncFactor is how many times longer a roll may stand still while data is copied.
const syncFactor = 6

// syncs tells whether a member copies the data of its primary, and nothing is known
// that keeps it from ending.
func (f *findings) syncs() bool {
	return len(f.plan.Problems) == 0 && slices.ContainsFunc(f.members, func(m topology.Member) bool { return m.Process != nil && m.Process.Syncing })
}

// pulse changes whenever a roll makes progress. Members that have not synced yet do
// not count: one after the other may be made and fail.
func (f *findings) pulse() string {
	out := []string{fmt.Sprint(f.plan.SlotsToMove)}
	for _, m := range f.members {
		if m.Phase != topology.PhaseJoining || m.Process != nil && m.Process.LinkUp {
			out = append(out, fmt.Sprint(m.Name, m.Phase, m.Retired, m.Process != nil && m.Process.Primary))
		}
	}
	return strings.Join(out, " ")
}

// await makes a plan that has nothing else to do say what is waited for.
func (p *place) await(c *v1alpha1.ValkeyCluster, limit int, plan *topology.Plan) {
	if !p.waits || !plan.Converged {
		return
	}
	plan.Converged, plan.Reason, plan.Message = false, ReasonWaiting, p.message(c, limit)
	if p.soon {
		plan.Reason = topology.ReasonRolling
	}
}

func (p *place) message(c *v1alpha1.ValkeyCluster, limit int) string {
	what := fmt.Sprintf("%d of %d members have to be replaced: %s", p.differ, p.all, p.why)
	if p.soon {
		return what
	}
	before, _ := p.line.Before(c.GetNamespace(), c.GetName())
	out := []string{what, fmt.Sprintf("it waits, since at most %d clusters do that at once, now %s", limit, who(p.line.Now(), c.GetNamespace())), fmt.Sprintf("%d before it", before)}
	if p.roll != nil && p.roll.Stalled != "" {
		out = append(out, "it had its turn, but made no progress: "+p.roll.Stalled)
	}
	if p.bad != nil {
		out = append(out, fmt.Sprintf("the annotation %s counts as 0: %v", manifest.AnnotationRollPriority, p.bad))
	}
	return strings.Join(out, "; ")
}

// who names clusters of a namespace and counts the others: one team must not learn
// the names of another one's clusters.
func who(cs []fleet.Cluster, namespace string) string {
	const most = 3
	var names []string
	for _, c := range cs {
		if c.Namespace == namespace && len(names) < most {
			names = append(names, c.Name)
		}
	}
	others := len(cs) - len(names)
	switch {
	case len(cs) == 0:
		return "none"
	case len(names) == 0:
		return fmt.Sprintf("%d of other namespaces", others)
	case others > 0:
		return fmt.Sprintf("%s and %d others", strings.Join(names, ", "), others)
	}
	return strings.Join(names, ", ")
}

// tellPriority reports a priority that cannot be read, while it would count.
func (e *external) tellPriority(c *v1alpha1.ValkeyCluster) {
	if bad := e.found.place.bad; bad != nil && e.memory.once(c, bad.Error()) {
		e.record.Event(c, event.Warning("BadRollPriority", fmt.Errorf("the annotation %s counts as 0: %w", manifest.AnnotationRollPriority, bad)))
	}
}

// differing counts those of some members that differ from the template, and says
// in what the last one does.
func (t *template) differing(ns []*v1alpha1.ValkeyNode) (n int, why string) {
	for _, o := range ns {
		if d := t.difference(o); d != "" {
			n, why = n+1, d
		}
	}
	return n, why
}

// apart sorts members into those that stay and those that were retired.
func apart(ns []*v1alpha1.ValkeyNode) (staying, leaving []*v1alpha1.ValkeyNode) {
	for _, n := range ns {
		if n.Annotations[manifest.AnnotationRetired] != "" {
			leaving = append(leaving, n)
			continue
		}
		staying = append(staying, n)
	}
	return staying, leaving
}
