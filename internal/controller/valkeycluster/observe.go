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
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"

	"crypto/tls"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)

// An external is the pods and processes of one cluster during one pass.
type external struct {
	client  client.Client
	live    client.Reader
	options common.Options
	log     logging.Logger
	record  event.Recorder
	memory  *memory
	places  *places
	watch   *deathWatch
	logs    logReader

	keys *keys
	tls  *tls.Config

	// found is what Observe leaves for Create and Update.
	found findings
	turn  turn
}

// findings is what one pass has found out and wants done.
type findings struct {
	resolved *resolved
	template *template
	keys     *keys
	nodes    []*node
	members  []topology.Member
	changes  []change
	records  []recording
	plan     topology.Plan
	admit    []*node
	place    place
	aclDue   []*node
	certDue  []*node
}

// Observe gathers, plans and writes down what it found. It changes nothing but
// the status.
func (e *external) Observe(ctx context.Context, c *v1alpha1.ValkeyCluster) (managed.ExternalObservation, error) {
	if meta.WasDeleted(c) {
		return e.observeDeletion(ctx, c)
	}
	now := time.Now()
	problem, err := e.look(ctx, c)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	//nolint:contextcheck // A watch outlives the pass that starts it.
	e.watch.follow(c, e.found.nodes, func(n *node) *valkey.Node { return e.conn(c, n) })
	t := enter(c, message(problem))
	if problem == nil {
		e.found.template = newTemplate(c, e.found.resolved)
	}
	if t, err = e.decide(ctx, c, t, now); err != nil {
		return managed.ExternalObservation{}, err
	}
	e.found.aclDue = e.found.dueACL(e.memory, t.State)
	e.found.certDue = e.found.dueCerts(e.memory, t.State)
	if err := e.turnKeys(c, t.State, now); err != nil {
		return managed.ExternalObservation{}, err
	}
	e.writeStatus(c, t, problem)
	e.measure(c)
	return managed.ExternalObservation{
		ResourceExists:    e.exists(c),
		ResourceUpToDate:  e.upToDate(c),
		ConnectionDetails: e.connectionDetails(c),
		Diff:              e.diff(),
	}, nil
}

// look collects everything that a decision needs. A problem is for the author of
// the spec, the catalog or the Secret to mend; objects around the members are
// maintained all the same, as far as they do not depend on it.
func (e *external) look(ctx context.Context, c *v1alpha1.ValkeyCluster) (problem, err error) {
	if problem, err = split(e.checkOrigin(ctx, c)); problem != nil || err != nil {
		e.found = findings{}
		return problem, err
	}
	r, err := e.resolve(ctx, c)
	if problem, err = split(err); err != nil {
		return nil, err
	}
	k, err := e.readKeys(ctx, c)
	taken, err := split(err)
	if err != nil {
		return nil, err
	}
	nodes, err := e.gather(ctx, c, k, e.caOf(ctx, c, r))
	if err != nil {
		return nil, err
	}
	if k == nil {
		e.found = findings{nodes: nodes}
		return first(problem, taken), nil
	}
	locked, admit := lockedOut(c, nodes), admittable(r, nodes)
	refused, err := split(e.tryACL(ctx, c, r, nodes))
	if err != nil {
		return nil, err
	}
	if refused != nil {
		r = nil
	}
	changes, err := e.compareObjects(ctx, c, r, k, nodes)
	clash, err := split(err)
	if err != nil {
		return nil, err
	}
	if clash != nil {
		// What cannot be written to the file must not reach the servers either.
		r = nil
	}
	e.found = findings{resolved: r, nodes: nodes, changes: changes, keys: k, admit: admit}
	return first(locked, problem, refused, clash), nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// split tells the author's problems from ours.
func split(err error) (problem, failure error) {
	var i invalid
	if errors.As(err, &i) {
		return i.err, nil
	}
	return nil, err
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// caOf returns the CA to verify members with: that of the user's Secret or,
// while that one is not usable, of the copy that the members run with.
func (e *external) caOf(ctx context.Context, c *v1alpha1.ValkeyCluster, r *resolved) []byte {
	if c.Spec.TLS == nil {
		return nil
	}
	var ca []byte
	if r != nil {
		ca = append(ca, r.tls["ca.crt"]...)
		ca = append(ca, '\n')
	}
	s := &corev1.Secret{}
	if err := e.client.Get(ctx, client.ObjectKey{Namespace: c.GetNamespace(), Name: manifest.TLSSecretName(c.GetName())}, s); err == nil {
		ca = slices.Concat(ca, s.Data["ca.crt"], []byte("\n"), s.Data[manifest.KeyPreviousCA])
	}
	return ca
}

// decide makes the plan of a pass, and returns the state in which it ends.
func (e *external) decide(ctx context.Context, c *v1alpha1.ValkeyCluster, t transition, now time.Time) (transition, error) {
	if err := e.takePlace(ctx, c, t, now); err != nil || e.found.template == nil {
		return t, err
	}
	e.plan(c, t, now)
	if end := t.leave(e.found.plan.Active); end.State != t.State {
		e.measureCreation(c, now)
		// What was deferred while Creating is due now, and not at the next poll.
		t = end
		if err := e.takePlace(ctx, c, t, now); err != nil {
			return t, err
		}
		e.plan(c, t, now)
	}
	given, err := e.giveUpPlace(ctx, c, now)
	if given {
		e.plan(c, t, now)
	}
	return t, err
}

// plan asks the planner what to do.
func (e *external) plan(c *v1alpha1.ValkeyCluster, t transition, now time.Time) {
	f := &e.found
	f.members, f.records = nil, nil
	for _, n := range f.nodes {
		m := n.member(f.template, t.State, now)
		if f.place.waits && m.Pod == topology.PodRunning {
			m.Outdated = n.cordon()
		}
		// A refusal alone may come from a firewall. It counts when the process
		// had ended its idle connection to us before.
		m.Refused = valkey.IsRefused(n.err) && e.watch.heard(n)
		f.members = append(f.members, m)
		if rec := n.recording(now); rec != nil {
			f.records = append(f.records, *rec)
		}
	}
	shards, replicas := t.topologyOf(c)
	hash := f.template.hash()
	goal := topology.Goal{
		Shards: shards, Replicas: replicas, Template: hash,
		NodeTimeout: duration(f.template.Settings[keyNodeTimeout], time.Millisecond),
		SyncDelay:   defaultSyncDelay,
		NewName:     namer(c, hash, f.nodes),
	}
	if s, ok := f.template.Settings[keySyncDelay]; ok {
		goal.SyncDelay = duration(s, time.Second)
	}
	f.plan = topology.Next(goal, topology.Snapshot{Members: f.members})
	f.place.await(c, e.options.MaxRolling, &f.plan)
}

// namer names new members. The same findings give the same names, so that what is
// asked for twice is made once. Later findings give others: the name of a member
// that left is not given again, since clients that verify certificates connect to
// names, and DNS answers with the former address for as long as a record may be
// cached, which is up to 30 s. A member that served was told in the cluster's status,
// so its resource version is another one since.
func namer(c *v1alpha1.ValkeyCluster, template string, nodes []*node) func(shard, k int) string {
	uids := make([]string, 0, len(nodes))
	for _, n := range nodes {
		uids = append(uids, string(n.obj.GetUID()))
	}
	slices.Sort(uids)
	seed := fmt.Sprintf("%s/%s/%s/%s", c.GetUID(), c.GetResourceVersion(), template, strings.Join(uids, ","))
	return func(shard, k int) string {
		return manifest.NodeName(c.GetName(), fmt.Sprintf("%s/%d/%d", seed, shard, k))
	}
}

// exists tells whether the objects around the members were ever made. A cluster
// that is only observed counts as existing, so that it is told what would be
// done.
func (e *external) exists(c *v1alpha1.ValkeyCluster) bool {
	if slices.Equal(c.GetManagementPolicies(), xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) || len(e.found.nodes) > 0 {
		return true
	}
	return e.found.template == nil || !slices.ContainsFunc(e.found.changes, func(ch change) bool {
		_, ok := ch.obj.(*corev1.Service)
		return ok && ch.verb == verbCreate
	})
}

func (e *external) upToDate(c *v1alpha1.ValkeyCluster) bool {
	f := e.found
	e.memory.pace(c, e.nextLook(c))
	return len(f.changes) == 0 && len(f.records) == 0 && len(f.plan.Actions) == 0 && len(f.admit)+len(f.aclDue)+len(f.certDue) == 0 && len(e.staleGates()) == 0
}

// nextLook returns how long to wait for the next pass, 0 for the poll interval.
func (e *external) nextLook(c *v1alpha1.ValkeyCluster) time.Duration {
	f := e.found
	switch {
	case f.template == nil && len(f.admit)+len(f.aclDue) > 0:
		return time.Second
	case f.template == nil:
		return 0
	case len(f.plan.Actions) > 0 && (c.Status.State == v1alpha1.StateCreating || slices.ContainsFunc(f.plan.Actions, isMove)):
		return 50 * time.Millisecond
	case len(f.plan.Actions)+len(f.certDue) > 0:
		return 250 * time.Millisecond
	case len(f.aclDue) > 0:
		return time.Second
	case ringOf(f.keys.auth.Data).rotating():
		return 500 * time.Millisecond
	case f.place.soon:
		return 250 * time.Millisecond
	case f.plan.Converged, f.plan.Reason == ReasonWaiting:
		return f.plan.Rest
	case f.plan.Reason == topology.ReasonHealing:
		// The replica that is to take over may answer at any moment.
		return 500 * time.Millisecond
	case slices.ContainsFunc(f.members, func(m topology.Member) bool { return m.Process == nil && m.Pod != topology.PodRunning }):
		// Kubernetes tells when something changes.
		return 3 * time.Second
	case f.plan.Reason == topology.ReasonConverged:
		// Only nodes that are gone are still to be forgotten.
		return 2 * time.Second
	case len(f.plan.Problems) > 0:
		// A person has to do something, which may take days.
		return 2 * time.Second
	}
	return 200 * time.Millisecond
}

// isMove tells whether an action takes its time itself.
func isMove(a topology.Action) bool {
	_, ok := a.(topology.MoveSlots)
	return ok
}

// diff lists what is to be done, for the log and for observers.
func (e *external) diff() string {
	var out []string
	for _, ch := range e.found.changes {
		out = append(out, ch.verb+" "+describe(ch.obj))
	}
	for _, a := range e.found.plan.Actions {
		out = append(out, a.String())
	}
	return strings.Join(out, "\n")
}

func (e *external) connectionDetails(c *v1alpha1.ValkeyCluster) managed.ConnectionDetails {
	if c.Spec.WriteConnectionSecretToReference == nil || c.Status.State != v1alpha1.StateActive {
		return nil
	}
	host := fmt.Sprintf("%s.%s.svc.cluster.local", c.GetName(), c.GetNamespace())
	scheme := "valkey"
	out := managed.ConnectionDetails{"host": []byte(host), "port": []byte("6379"), "endpoint": []byte(host + ":6379")}
	if e.found.resolved != nil && e.found.resolved.tls != nil {
		scheme = "valkeys"
		out["ca.crt"] = e.found.resolved.tls["ca.crt"]
	}
	out["url"] = []byte(scheme + "://" + host + ":6379")
	return out
}

// observeDeletion reports a cluster that is being deleted: it exists while it has
// members, everything else goes with its owner.
func (e *external) observeDeletion(ctx context.Context, c *v1alpha1.ValkeyCluster) (managed.ExternalObservation, error) {
	nodes, err := e.list(ctx, c)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	e.found = findings{nodes: nodes}
	c.SetConditions(xpv2.Deleting().WithMessage(fmt.Sprintf("%d members are left", len(nodes))))
	return managed.ExternalObservation{ResourceExists: len(nodes) > 0}, nil
}

// Delete deletes the members. Their own finalizers see that the cluster goes and
// do not wait for anything to be drained.
func (e *external) Delete(ctx context.Context, c *v1alpha1.ValkeyCluster) (managed.ExternalDelete, error) {
	for _, n := range e.found.nodes {
		if meta.WasDeleted(n.obj) {
			continue
		}
		if err := e.client.Delete(ctx, n.obj); err != nil && !kerrors.IsNotFound(err) {
			return managed.ExternalDelete{}, fmt.Errorf("cannot delete ValkeyNode %s: %w", n.obj.GetName(), err)
		}
	}
	e.memory.forget(c)
	for _, n := range e.found.nodes {
		e.watch.drop(processKey(n))
		e.memory.forget(n.obj)
	}
	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: connections belong to the pool.
func (e *external) Disconnect(context.Context) error { return nil }
