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

// Package valkeynode reconciles ValkeyNodes: one Secret and one pod for each. It
// never speaks to a Valkey process; the controller of ValkeyClusters does.
package valkeynode

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/quiet"
)

// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeynodes,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeynodes/status,verbs=update;patch
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeynodes/finalizers,verbs=update
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeyclusters,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// pollsBetween is how many times as long as a cluster a node is left alone: every
// change that concerns it comes as an event.
const pollsBetween = 20

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o common.Options) error {
	const name = "valkeynode"
	rec := common.ChangeRecorder{Recorder: event.NewAPIRecorder(mgr.GetEventRecorderFor(name))}
	opts := []managed.ReconcilerOption{
		managed.WithTypedExternalConnector(managed.TypedExternalConnectorFn[*v1alpha1.ValkeyNode](func(context.Context, *v1alpha1.ValkeyNode) (managed.TypedExternalClient[*v1alpha1.ValkeyNode], error) {
			return &external{client: mgr.GetClient(), live: mgr.GetAPIReader(), options: o}, nil
		})),
		managed.WithLogger(o.Logger.WithValues("controller", name)),
		managed.WithRecorder(rec),
		managed.WithInitializers(),
		managed.WithFinalizer(resource.NewAPIFinalizer(mgr.GetClient(), manifest.FinalizerNode)),
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0),
		managed.WithPollInterval(pollsBetween * o.PollInterval),
		managed.WithMinPollInterval(common.MinPollInterval),
		managed.WithPollIntervalHook(func(_ resource.Managed, d time.Duration) time.Duration {
			return d + time.Duration(rand.Float64()*o.PollJitter*float64(d)) //nolint:gosec // Jitter needs no secure randomness.
		}),
	}
	if o.Features.Enabled(feature.EnableAlphaChangeLogs) && o.ChangeLogOptions != nil {
		opts = append(opts, managed.WithChangeLogger(o.ChangeLogOptions.ChangeLogger))
	}
	// Passes are not limited in number, as those over clusters are: they ask nobody
	// but the cache, and there are many times as many.
	r := managed.NewReconciler(quiet.Manager{Manager: mgr}, resource.ManagedKind(v1alpha1.ValkeyNodeGVK), opts...)
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.ValkeyNode{}, builder.WithPredicates(common.Desired(), predicate.NewPredicateFuncs(func(o client.Object) bool { return manifest.MadeByUs(o) }))).
		Owns(&corev1.Pod{}).
		Watches(&v1alpha1.ValkeyCluster{}, handler.EnqueueRequestsFromMapFunc(nodesOf(mgr.GetClient())), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

// nodesOf maps a cluster to its nodes: a change of podAnnotations or a deletion
// concerns them.
func nodesOf(c client.Client) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		l := &v1alpha1.ValkeyNodeList{}
		if err := c.List(ctx, l, client.InNamespace(obj.GetNamespace()), client.MatchingLabels{manifest.LabelInstance: obj.GetName()}); err != nil {
			return nil
		}
		var rs []reconcile.Request
		for i := range l.Items {
			if !manifest.MadeByUs(&l.Items[i]) {
				continue
			}
			rs = append(rs, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&l.Items[i])})
		}
		return rs
	}
}
