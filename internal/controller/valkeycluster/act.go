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
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"golang.org/x/sync/errgroup"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/settings"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

const (
	// actionTimeout bounds one action, but for the classic move of slots.
	actionTimeout = 5 * time.Second
	// parallel bounds how many actions run at once.
	parallel = 32
	// failoverPatience is how long an ordered failover is not ordered again.
	failoverPatience = 3 * time.Second
)

// Create makes the objects around the members and the members.
func (e *external) Create(ctx context.Context, c *v1alpha1.ValkeyCluster) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.act(ctx, c)
}

// Update carries out what Observe found to be due.
func (e *external) Update(ctx context.Context, c *v1alpha1.ValkeyCluster) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.act(ctx, c)
}

func (e *external) act(ctx context.Context, c *v1alpha1.ValkeyCluster) error {
	f := e.found
	// Members need the Secrets: nothing is made before they are.
	if err := each(f.changes, func(ch change) error { return e.write(ctx, c, ch) }); err != nil {
		return err
	}
	record := func(r recording) error {
		return e.unlessWritten(c, "status of "+string(r.node.obj.GetUID()), r.what(), func() error { return e.writeRecording(ctx, c, r) })
	}
	if err := each(f.records, record); err != nil {
		return err
	}
	var failed []error
	for _, w := range waves(f.plan.Actions) {
		w, err := e.timely(ctx, c, w)
		if err != nil {
			failed = append(failed, err)
		}
		if err := each(w, func(a topology.Action) error { return e.carryOut(ctx, c, a) }); err != nil {
			failed = append(failed, err)
		}
	}
	failed = append(failed,
		each(f.admit, func(n *node) error { return e.valkeyError(c, "ACLFailed", e.admit(ctx, c, n)) }),
		each(f.aclDue, func(n *node) error { return e.valkeyError(c, "ACLFailed", e.applyACL(ctx, c, n)) }),
		each(f.certDue, func(n *node) error { return e.valkeyError(c, "CertificateFailed", e.applyCert(ctx, c, n)) }),
		each(e.staleGates(), func(n *node) error {
			return e.unlessWritten(c, "gate of "+string(n.obj.GetUID()), strconv.FormatBool(n.synced()), func() error { return e.writeGate(ctx, n) })
		}))
	return errors.Join(failed...)
}

// timely leaves out the making of members while there are some that this pass has
// not seen, as the cache may be behind: it could be those that are missing, and they
// would be made again by other names.
func (e *external) timely(ctx context.Context, c *v1alpha1.ValkeyCluster, as []topology.Action) ([]topology.Action, error) {
	isCreate := func(a topology.Action) bool { _, ok := a.(topology.CreateNode); return ok }
	if !slices.ContainsFunc(as, isCreate) {
		return as, nil
	}
	without := slices.DeleteFunc(slices.Clone(as), isCreate)
	nl := &v1alpha1.ValkeyNodeList{}
	if err := e.live.List(ctx, nl, client.InNamespace(c.GetNamespace()), client.MatchingLabels{manifest.LabelInstance: c.GetName()}); err != nil {
		return without, fmt.Errorf("cannot list ValkeyNodes: %w", err)
	}
	unseen := func(n v1alpha1.ValkeyNode) bool {
		return metav1.IsControlledBy(&n, c) && !slices.ContainsFunc(e.found.nodes, func(f *node) bool { return f.obj.GetUID() == n.GetUID() })
	}
	if slices.ContainsFunc(nl.Items, unseen) {
		return without, nil
	}
	return as, nil
}

// each runs a function for all elements, many at once, and joins the errors.
func each[T any](xs []T, do func(T) error) error {
	var mu sync.Mutex
	var errs []error
	g := errgroup.Group{}
	g.SetLimit(parallel)
	for _, x := range xs {
		g.Go(func() error {
			if err := do(x); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

// waves groups actions that may run at once. The failover of a dead primary waits
// for nothing, least of all for a busy API server. Slots come before introductions:
// a config epoch can only be set on a node that knows nobody.
func waves(as []topology.Action) [][]topology.Action {
	out := make([][]topology.Action, 7)
	for _, a := range as {
		i := 1
		switch a := a.(type) {
		case topology.Tune, topology.CreateNode, topology.SetPhase:
			i = 1
		case topology.AddSlots, topology.CloseSlot, topology.BumpEpoch:
			i = 2
		case topology.Meet:
			i = 3
		case topology.Replicate, topology.Forget:
			i = 4
		case topology.MigrateSlots, topology.MoveSlots:
			i = 5
		case topology.Failover:
			i = 5
			if a.Mode != topology.FailoverDefault {
				i = 0
			}
		case topology.Retire:
			i = 6
		}
		out[i] = append(out[i], a)
	}
	return out
}

// carryOut does one action. What a Valkey process refuses is told and tried
// again at the next pass; it must not slow the pass down.
func (e *external) carryOut(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.Action) error {
	log := e.log.WithValues("cluster", c.GetNamespace()+"/"+c.GetName(), "action", a.String())
	log.Debug("Carrying out")
	switch a := a.(type) {
	case topology.CreateNode:
		return e.createNode(ctx, c, a)
	case topology.SetPhase:
		return e.unlessWritten(c, "phase of "+e.found.uid(a.Node), string(a.Phase), func() error { return e.setPhase(ctx, c, a) })
	case topology.Retire:
		return e.retire(ctx, c, a)
	case topology.Replicate:
		if e.handingOver(c, a.Primary) {
			return nil
		}
	case topology.Failover:
		if e.ordered(c, a) {
			return nil
		}
		if err := e.awaitOneShard(ctx, c, a); err != nil {
			log.Info("Handover waits", "reason", err)
			return e.valkeyError(c, "HandoverWaits", fmt.Errorf("cannot %s yet: %w", a, err))
		}
		// What is not ordered again must not be told again either.
		e.memory.cool(c, failoverKey(a.Node, a.Mode), failoverPatience)
	}
	err := e.command(ctx, c, a)
	if err == nil {
		e.tellAction(c, a)
		return nil
	}
	log.Info("Action failed", "error", err)
	return e.valkeyError(c, "ActionFailed", fmt.Errorf("cannot %s: %w", a, err))
}

// uid returns the UID of a member: another one may get its name.
func (f *findings) uid(name string) string {
	if n := f.member(name); n != nil {
		return string(n.obj.GetUID())
	}
	return name
}

// member returns a member by its name, or nil.
func (f *findings) member(name string) *node {
	i := slices.IndexFunc(f.nodes, func(n *node) bool { return n.obj.GetName() == name })
	if i < 0 {
		return nil
	}
	return f.nodes[i]
}

// unlessWritten writes something unless just that was the last thing to be written
// there, and a moment ago: the cache of a busy API server is behind. Without this,
// every pass until it has caught up would add to what the API server has to do.
func (e *external) unlessWritten(c *v1alpha1.ValkeyCluster, where, what string, write func() error) error {
	if e.memory.written(c, where, what) {
		return nil
	}
	if err := write(); err != nil {
		return err
	}
	e.memory.wrote(c, where, what)
	return nil
}

// valkeyError tells an error of a Valkey process once and lets the pass go on.
func (e *external) valkeyError(c *v1alpha1.ValkeyCluster, reason event.Reason, err error) error {
	if err == nil {
		return nil
	}
	e.measureError(c, err)
	if passing(err) {
		return nil
	}
	if e.memory.once(c, err.Error()) {
		e.record.Event(c, event.Warning(reason, err))
	}
	return nil
}

// passing tells whether an error only says that gossip has not arrived yet.
func passing(err error) bool {
	return valkey.IsUnknownNode(err) || valkey.IsForgetMyMaster(err) || valkey.IsKnowsOthers(err) || valkey.IsUnreachable(err)
}

func (e *external) command(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.Action) error {
	if a, ok := a.(topology.MoveSlots); ok {
		return e.moveSlots(ctx, c, a)
	}
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	switch a := a.(type) {
	case topology.Tune:
		return e.node(c, a.Node, func(n *valkey.Node) error { return n.ConfigSet(ctx, timers(a)) })
	case topology.AddSlots:
		return e.addSlots(ctx, c, a)
	case topology.BumpEpoch:
		return e.node(c, a.Node, func(n *valkey.Node) error { return n.BumpEpoch(ctx) })
	case topology.CloseSlot:
		return e.node(c, a.Node, func(n *valkey.Node) error { return n.SetSlotStable(ctx, a.Slot) })
	case topology.Meet:
		return e.meet(ctx, c, a)
	case topology.Replicate:
		return e.node(c, a.Node, func(n *valkey.Node) error { return n.Replicate(ctx, a.PrimaryID) })
	case topology.Forget:
		return e.node(c, a.Node, func(n *valkey.Node) error { return n.Forget(ctx, a.ID) })
	case topology.Failover:
		return e.node(c, a.Node, func(n *valkey.Node) error { return e.failOver(ctx, n, a) })
	case topology.MigrateSlots:
		if err := e.bringFunctions(ctx, c, a.To); err != nil {
			return err
		}
		return e.node(c, a.From, func(n *valkey.Node) error {
			return n.MigrateSlots(ctx, valkey.SlotMove{Ranges: slotRanges(a.Ranges), TargetID: a.ToID})
		})
	}
	return fmt.Errorf("unknown action %T", a)
}

func slotRanges(rs []topology.SlotRange) []valkey.SlotRange {
	out := make([]valkey.SlotRange, 0, len(rs))
	for _, r := range rs {
		out = append(out, valkey.SlotRange{Start: r.Start, End: r.End})
	}
	return out
}

func timers(a topology.Tune) map[string]string {
	return map[string]string{
		keyNodeTimeout: strconv.FormatInt(a.NodeTimeout.Milliseconds(), 10),
		keySyncDelay:   strconv.FormatInt(int64(a.SyncDelay.Seconds()), 10),
	}
}

// node runs a function on a connection to a member, and to nobody else who has its
// address.
func (e *external) node(c *v1alpha1.ValkeyCluster, name string, do func(*valkey.Node) error) error {
	n := e.found.member(name)
	if n == nil || n.pod == nil || n.pod.Status.PodIP == "" {
		return fmt.Errorf("member %s has no pod", name)
	}
	return do(e.conn(c, n).Expecting(n.id()))
}

func (e *external) addSlots(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.AddSlots) error {
	// Slots that nobody has are worse than functions that are missing.
	_ = e.valkeyError(c, "FunctionsMissing", e.bringFunctions(ctx, c, a.Node))
	return e.node(c, a.Node, func(n *valkey.Node) error {
		if a.Epoch > 0 {
			if err := n.SetConfigEpoch(ctx, a.Epoch); err != nil && !valkey.IsKnowsOthers(err) && !valkey.IsEpochSet(err) {
				return err
			}
		}
		if a.Bump {
			if err := n.BumpEpoch(ctx); err != nil {
				return err
			}
		}
		if a.Take {
			return takeSlots(ctx, n, a)
		}
		return n.AddSlots(ctx, slotRanges(a.Ranges))
	})
}

// takeSlots gives a node slots that it believes to belong to somebody who does
// not own them any more: ADDSLOTS would find them busy.
func takeSlots(ctx context.Context, n *valkey.Node, a topology.AddSlots) error {
	id, err := n.MyID(ctx)
	if err != nil {
		return err
	}
	for _, r := range a.Ranges {
		for slot := r.Start; slot <= r.End; slot++ {
			if err := n.SetSlotNode(ctx, slot, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// meet introduces a member after it proved, with our password, that it still is
// the one expected: the address may meanwhile belong to another cluster, and one
// MEET would merge the two.
func (e *external) meet(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.Meet) error {
	if err := e.node(c, a.To, func(n *valkey.Node) error { return n.Expecting(a.ToID).Ping(ctx) }); err != nil {
		return err
	}
	return e.node(c, a.From, func(n *valkey.Node) error { return n.Meet(ctx, a.ToIP, settings.Port) })
}

func (e *external) createNode(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.CreateNode) error {
	obj := manifest.Node(c, a.Name, int32(a.Shard), e.found.template.forNode(c, a.Name)) //nolint:gosec // A shard index comes from an int32.
	err := e.client.Create(ctx, obj)
	if kerrors.IsAlreadyExists(err) {
		return e.adopt(ctx, c, obj)
	}
	if err != nil {
		return fmt.Errorf("cannot create ValkeyNode %s: %w", a.Name, err)
	}
	e.tellAction(c, a)
	return nil
}

func (e *external) setPhase(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.SetPhase) error {
	return e.patch(ctx, c, a.Node, map[string]any{"spec": map[string]any{"lifecycle": string(a.Phase)}})
}

// retire deletes a member and releases it. The order matters: a provider that is
// killed in between leaves a node that is being deleted and waits to be drained, as
// if a person had asked for it. A release that nobody follows up could not be taken
// back, although its process may become primary meanwhile.
func (e *external) retire(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.Retire) error {
	obj := &v1alpha1.ValkeyNode{}
	obj.SetName(a.Node)
	obj.SetNamespace(c.GetNamespace())
	if err := e.client.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete ValkeyNode %s: %w", a.Node, err)
	}
	release := map[string]any{"metadata": map[string]any{"annotations": map[string]any{manifest.AnnotationRetired: time.Now().UTC().Format(time.RFC3339)}}}
	if err := e.patch(ctx, c, a.Node, release); err != nil {
		return err
	}
	if n := e.found.member(a.Node); n != nil {
		e.memory.forget(n.obj)
		e.watch.drop(processKey(n))
	}
	// The next pass may not see it yet.
	if e.memory.cool(c, "retire "+a.Node, failoverPatience) {
		e.tellAction(c, a)
	}
	return nil
}

func (e *external) patch(ctx context.Context, c *v1alpha1.ValkeyCluster, name string, fields map[string]any) error {
	patch, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	obj := &v1alpha1.ValkeyNode{}
	obj.SetName(name)
	obj.SetNamespace(c.GetNamespace())
	if err := e.client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot change ValkeyNode %s: %w", name, err)
	}
	return nil
}

// tellAction sends an event for an action that users care about.
func (e *external) tellAction(c *v1alpha1.ValkeyCluster, a topology.Action) {
	reason := event.Reason("")
	switch a := a.(type) {
	case topology.CreateNode:
		reason = "CreatedMember"
	case topology.Failover:
		reason = "OrderedFailover"
		if a.Balance {
			reason = "BalancedPrimaries"
		}
	case topology.MigrateSlots, topology.MoveSlots:
		reason = "MovingSlots"
	case topology.Retire:
		reason = "RetiredMember"
	default:
		return
	}
	e.record.Event(c, event.Normal(reason, a.String()))
}
