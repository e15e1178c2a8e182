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

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// operatorUser is the Valkey user that the provider logs in as.
const operatorUser = acl.OperatorUser

// A change is an object that has to be made, updated or deleted.
type change struct {
	obj  client.Object
	verb string
	// tell, if set, is the event to send once it was written.
	tell *event.Event
}

const (
	verbCreate = "create"
	verbUpdate = "update"
	verbDelete = "delete"
)

// compareObjects returns what has to be written so that the objects around the
// members are as they should be. It reads the cache only.
func (e *external) compareObjects(ctx context.Context, c *v1alpha1.ValkeyCluster, r *resolved, k *keys, nodes []*node) ([]change, error) {
	out := slices.Clone(k.changes)
	add := func(obj client.Object, have client.Object, differs func() bool) error {
		ch, err := e.compare(ctx, c, obj, have, differs)
		if ch != nil {
			out = append(out, *ch)
		}
		return err
	}
	svc, haveSvc := manifest.Service(c), &corev1.Service{}
	if err := add(svc, haveSvc, func() bool { return !equality.Semantic.DeepDerivative(svc.Spec, haveSvc.Spec) }); err != nil {
		return nil, err
	}
	if r != nil {
		if err := e.addSecrets(ctx, c, r, k, nodes, add); err != nil {
			return nil, err
		}
	}
	budgets, err := e.compareBudgets(ctx, c, nodes, add)
	if err != nil {
		return nil, err
	}
	policies, err := e.comparePolicy(ctx, c, nodes)
	return slices.Concat(out, budgets, policies), err
}

func (e *external) addSecrets(ctx context.Context, c *v1alpha1.ValkeyCluster, r *resolved, k *keys, nodes []*node, add func(client.Object, client.Object, func() bool) error) error {
	file, err := acl.File(r.users, ringOf(k.auth.Data).system(), oldestVersion(r.Version, nodes))
	if err != nil {
		return invalid{err}
	}
	aclSecret, haveACL := manifest.ACLSecret(c, file), &corev1.Secret{}
	if err := add(aclSecret, haveACL, func() bool { return !equality.Semantic.DeepEqual(aclSecret.Data, haveACL.Data) }); err != nil {
		return err
	}
	if r.tls == nil {
		return nil
	}
	previous, err := e.previousCA(ctx, c, r, nodes)
	if err != nil {
		return err
	}
	cp, haveTLS := manifest.TLSCopy(c, r.tls, previous), &corev1.Secret{}
	return add(cp, haveTLS, func() bool { return !equality.Semantic.DeepEqual(cp.Data, haveTLS.Data) })
}

// oldestVersion returns the oldest version among the target and the running
// members: an ACL file must not name commands that one of them does not know.
func oldestVersion(target string, nodes []*node) string {
	v := target
	for _, n := range nodes {
		if n.state != nil && !knowsMigration(n.state.Version) {
			v = n.state.Version
		}
	}
	return v
}

func (e *external) compare(ctx context.Context, c *v1alpha1.ValkeyCluster, obj, have client.Object, differs func() bool) (*change, error) {
	err := e.client.Get(ctx, client.ObjectKeyFromObject(obj), have)
	if kerrors.IsNotFound(err) {
		return &change{obj: obj, verb: verbCreate}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot get %s: %w", describe(obj), err)
	}
	if !metav1.IsControlledBy(have, c) {
		return nil, foreign(obj, c)
	}
	if !differs() || meta.WasDeleted(have) {
		return nil, nil
	}
	obj.SetResourceVersion(have.GetResourceVersion())
	return &change{obj: obj, verb: verbUpdate}, nil
}

func describe(obj client.Object) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", obj), "*")
	if _, k, ok := strings.Cut(kind, "."); ok {
		kind = k
	}
	return kind + " " + obj.GetName()
}

func foreign(obj client.Object, c *v1alpha1.ValkeyCluster) error {
	return invalid{fmt.Errorf("%s exists in namespace %q but does not belong to ValkeyCluster %q; delete it or choose another name for the cluster",
		describe(obj), obj.GetNamespace(), c.GetName())}
}

// compareBudgets keeps one disruption budget for each shard that is wanted or
// still has members.
func (e *external) compareBudgets(ctx context.Context, c *v1alpha1.ValkeyCluster, nodes []*node, add func(client.Object, client.Object, func() bool) error) ([]change, error) {
	shards := map[int32]bool{}
	for i := range c.Spec.Shards {
		shards[i] = true
	}
	for _, n := range nodes {
		shards[n.obj.Spec.ShardIndex] = true
	}
	for i := range shards {
		pdb, have := manifest.PodDisruptionBudget(c, i, int(c.Spec.ReplicasPerShard)+1), &policyv1.PodDisruptionBudget{}
		if err := add(pdb, have, func() bool { return !equality.Semantic.DeepEqual(pdb.Spec, have.Spec) }); err != nil {
			return nil, err
		}
	}
	l := &policyv1.PodDisruptionBudgetList{}
	if err := e.client.List(ctx, l, client.InNamespace(c.GetNamespace()), client.MatchingLabels{manifest.LabelInstance: c.GetName()}); err != nil {
		return nil, fmt.Errorf("cannot list PodDisruptionBudgets: %w", err)
	}
	wanted := map[string]bool{}
	for i := range shards {
		wanted[manifest.PDBName(c.GetName(), i)] = true
	}
	var out []change
	for i := range l.Items {
		if p := &l.Items[i]; !wanted[p.Name] && metav1.IsControlledBy(p, c) && !meta.WasDeleted(p) {
			out = append(out, change{obj: p, verb: verbDelete})
		}
	}
	return out, nil
}

// write carries out a change. An object that exists already is fine if it is
// ours: the cache had not seen it yet.
func (e *external) write(ctx context.Context, c *v1alpha1.ValkeyCluster, ch change) error {
	var err error
	switch ch.verb {
	case verbCreate:
		err = e.client.Create(ctx, ch.obj)
		if kerrors.IsAlreadyExists(err) {
			return e.adopt(ctx, c, ch.obj)
		}
	case verbUpdate:
		err = e.client.Update(ctx, ch.obj)
		if kerrors.IsConflict(err) {
			// The cache was behind. The next pass decides anew.
			return nil
		}
	case verbDelete:
		// Somebody else's object may have come in its place meanwhile.
		uid := ch.obj.GetUID()
		err = client.IgnoreNotFound(e.client.Delete(ctx, ch.obj, client.Preconditions{UID: &uid}))
		if kerrors.IsConflict(err) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", ch.verb, describe(ch.obj), err)
	}
	if ch.tell != nil {
		e.record.Event(c, *ch.tell)
	}
	return nil
}

func (e *external) adopt(ctx context.Context, c *v1alpha1.ValkeyCluster, obj client.Object) error {
	have := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // A copy of an object is an object.
	if err := e.live.Get(ctx, client.ObjectKeyFromObject(obj), have); err != nil {
		return fmt.Errorf("cannot get %s: %w", describe(obj), err)
	}
	if !metav1.IsControlledBy(have, c) {
		return foreign(obj, c)
	}
	return nil
}
