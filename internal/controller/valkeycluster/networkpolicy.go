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

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;update;delete

// comparePolicy returns what has to be written so that the cluster bus is open to
// the cluster's own pods only, if the provider is to see to that.
//
// NetworkPolicies add up: what one of them permits no other can take back. Ours
// leaves all but the bus open, since a pod that it selects is closed otherwise.
// Where a policy of somebody else selects the pods they are closed already, and
// ours would open what that one means to keep shut. So there is none then.
func (e *external) comparePolicy(ctx context.Context, c *v1alpha1.ValkeyCluster, nodes []*node) ([]change, error) {
	if !e.options.NetworkPolicies {
		return e.dropPolicy(ctx, c)
	}
	l := &networkingv1.NetworkPolicyList{}
	if err := e.client.List(ctx, l, client.InNamespace(c.GetNamespace())); err != nil {
		return nil, fmt.Errorf("cannot list NetworkPolicies: %w", err)
	}
	want := manifest.NetworkPolicy(c)
	var have *networkingv1.NetworkPolicy
	other := ""
	for i := range l.Items {
		p := &l.Items[i]
		switch {
		case metav1.IsControlledBy(p, c):
			have = p
		case p.GetName() == want.GetName(), closes(p, podLabels(c, nodes)):
			other = p.GetName()
		}
	}
	switch {
	case other != "" && have != nil && !meta.WasDeleted(have):
		ev := event.Normal("NetworkPolicyLeftToOthers", fmt.Sprintf("NetworkPolicy %q selects pods of the cluster: the provider's own would permit more, so it is deleted", other))
		return []change{{obj: have, verb: verbDelete, tell: &ev}}, nil
	case other != "":
		return nil, nil
	case have == nil:
		return []change{{obj: want, verb: verbCreate}}, nil
	case !meta.WasDeleted(have) && !equality.Semantic.DeepEqual(want.Spec, have.Spec):
		want.SetResourceVersion(have.GetResourceVersion())
		return []change{{obj: want, verb: verbUpdate}}, nil
	}
	return nil, nil
}

// dropPolicy returns what has to be deleted of a time in which the provider was to
// make policies.
func (e *external) dropPolicy(ctx context.Context, c *v1alpha1.ValkeyCluster) ([]change, error) {
	if !e.options.OldPolicies {
		return nil, nil
	}
	have := &networkingv1.NetworkPolicy{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: c.GetNamespace(), Name: manifest.NetworkPolicyName(c.GetName())}, have)
	if kerrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot get the NetworkPolicy: %w", err)
	}
	if !metav1.IsControlledBy(have, c) || meta.WasDeleted(have) {
		return nil, nil
	}
	ev := event.Normal("NetworkPolicyRemoved", "the provider runs without --network-policies, so the NetworkPolicy that it made is deleted: the cluster bus is open")
	return []change{{obj: have, verb: verbDelete, tell: &ev}}, nil
}

// podLabels returns the labels that pods of the cluster have or will have.
func podLabels(c *v1alpha1.ValkeyCluster, nodes []*node) []labels.Set {
	var out []labels.Set
	for i := range c.Spec.Shards {
		out = append(out, manifest.ShardLabels(c.GetName(), i))
	}
	for _, n := range nodes {
		if n.pod != nil {
			out = append(out, n.pod.GetLabels())
		}
	}
	return out
}

// closes tells whether a policy selects one of some pods and says who may come
// in, so that nobody else may.
func closes(p *networkingv1.NetworkPolicy, pods []labels.Set) bool {
	// An unset list of types means ingress, and egress if there are rules of it.
	if len(p.Spec.PolicyTypes) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil {
		// The API server would not have let it in; if in doubt it closes.
		return true
	}
	return slices.ContainsFunc(pods, func(l labels.Set) bool { return selector.Matches(l) })
}

// clustersBeside maps a policy to all clusters of its namespace: it may select
// the pods of any of them.
func clustersBeside(c client.Client) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return requests(ctx, c, obj.GetNamespace(), func(*v1alpha1.ValkeyCluster) bool { return true })
	}
}
