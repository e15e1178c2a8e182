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

// Package valkeycluster reconciles ValkeyClusters. One pass gathers what
// Kubernetes and the Valkey processes tell, lets the planner decide, carries the
// plan out and writes the status.
package valkeycluster

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/catalog"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/quiet"
)

// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeyclusters,verbs=list;watch;update
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeyclusters/status,verbs=update
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeyclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeynodes,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeynodes/status,verbs=update;patch
// +kubebuilder:rbac:groups=valkey.gomomento.com,resources=valkeyimages;valkeyconfigs;valkeyroles,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update

// Setup adds the controller to a manager.
func Setup(ctx context.Context, mgr ctrl.Manager, o common.Options) error {
	const name = "valkeycluster"
	rec := common.ChangeRecorder{Recorder: xpevent.NewAPIRecorder(mgr.GetEventRecorderFor(name))}
	mem := newMemory()
	deaths, urgent := newDeathWatch(ctx), common.NewUrgent()
	turns := newPlaces(o.MaxRolling, mgr.GetClient())
	log := o.Logger.WithValues("controller", name)
	logs, err := newLogReader(mgr.GetConfig())
	if err != nil {
		return err
	}
	opts := []managed.ReconcilerOption{
		managed.WithTypedExternalConnector(managed.TypedExternalConnectorFn[*v1alpha1.ValkeyCluster](func(context.Context, *v1alpha1.ValkeyCluster) (managed.TypedExternalClient[*v1alpha1.ValkeyCluster], error) {
			return &external{client: mgr.GetClient(), live: mgr.GetAPIReader(), options: o, log: log, record: rec, memory: mem, places: turns, watch: deaths, logs: logs}, nil
		})),
		managed.WithLogger(log),
		managed.WithRecorder(rec),
		managed.WithInitializers(),
		managed.WithFinalizer(resource.NewAPIFinalizer(mgr.GetClient(), manifest.FinalizerCluster)),
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0),
		managed.WithPollInterval(o.PollInterval),
		managed.WithMinPollInterval(common.MinPollInterval),
		managed.WithPollIntervalHook(pacer(mem, o.PollJitter)),
	}
	if o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		opts = append(opts, managed.WithManagementPolicies())
	}
	if o.Features.Enabled(feature.EnableAlphaChangeLogs) && o.ChangeLogOptions != nil {
		opts = append(opts, managed.WithChangeLogger(o.ChangeLogOptions.ChangeLogger))
	}
	r := managed.NewReconciler(quiet.Manager{Manager: mgr}, resource.ManagedKind(v1alpha1.ValkeyClusterGVK), opts...)
	c := mgr.GetClient()
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, indexHost, hostOfPod); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr)
	switch {
	case o.NetworkPolicies:
		b = b.Watches(&networkingv1.NetworkPolicy{}, handler.EnqueueRequestsFromMapFunc(clustersBeside(c)))
	case o.OldPolicies:
		b = b.Owns(&networkingv1.NetworkPolicy{})
	}
	if turns != nil {
		b = b.Watches(&v1alpha1.ValkeyCluster{}, turns.wakes())
	}
	return b.
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.ValkeyCluster{}, builder.WithPredicates(common.Desired())).
		Owns(&v1alpha1.ValkeyNode{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.Secret{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&v1alpha1.ValkeyCluster{}, forgets(mem, o.Metrics)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(clusterOfPod)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(clustersOn(c)), builder.WithPredicates(common.HostChanged())).
		Watches(&v1alpha1.ValkeyConfig{}, handler.EnqueueRequestsFromMapFunc(usersOf(c, usesConfig))).
		Watches(&v1alpha1.ValkeyImage{}, handler.EnqueueRequestsFromMapFunc(usersOf(c, usesImage))).
		Watches(&v1alpha1.ValkeyRole{}, handler.EnqueueRequestsFromMapFunc(usersOf(c, usesRole))).
		WatchesRawSource(source.Kind(o.TLSSecrets, secretMetadata(), handler.TypedEnqueueRequestsFromMapFunc(tlsUsersOf(c)))).
		Watches(&corev1.Pod{}, endOfPods(urgent)).
		WatchesRawSource(source.Channel(deaths.woken, endOfConnections(urgent))).
		Complete(urgent.Reconciler(r, ratelimiter.NewReconciler(name, r, o.GlobalRateLimiter)))
}

// endOfPods makes the pass urgent that hears of the end of a member's pod.
func endOfPods(u *common.Urgent) handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, also := e.ObjectNew.(*corev1.Pod)
		if ok && also && !common.PodEnded(before) && common.PodEnded(after) {
			u.Add(q, clusterOfPod(ctx, after)...)
		}
	}}
}

// endOfConnections makes the pass urgent that hears of the end of an idle
// connection to a primary.
func endOfConnections(u *common.Urgent) handler.TypedEventHandler[*v1alpha1.ValkeyCluster, reconcile.Request] {
	return handler.TypedFuncs[*v1alpha1.ValkeyCluster, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[*v1alpha1.ValkeyCluster], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			u.Add(q, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
	}
}

// pacer returns when to look again: soon while something is under way, and after
// the poll interval with some jitter when not.
func pacer(mem *memory, jitter float64) managed.PollIntervalHook {
	return func(mg resource.Managed, d time.Duration) time.Duration {
		if next := mem.next(mg); next > 0 {
			return next
		}
		return d + time.Duration(rand.Float64()*jitter*float64(d)) //nolint:gosec // Jitter needs no secure randomness.
	}
}

func secretMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return m
}

func clusterOfPod(_ context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[manifest.LabelInstance]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
}

// indexHost is the name of the cache's index of pods by their Kubernetes node.
const indexHost = "spec.nodeName"

func hostOfPod(obj client.Object) []string {
	p, ok := obj.(*corev1.Pod)
	if !ok || p.Spec.NodeName == "" {
		return nil
	}
	return []string{p.Spec.NodeName}
}

// clustersOn maps a Kubernetes node to the clusters that have pods on it.
func clustersOn(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		l := &corev1.PodList{}
		if err := c.List(ctx, l, client.MatchingFields{indexHost: obj.GetName()}); err != nil {
			return nil
		}
		seen := map[reconcile.Request]bool{}
		for i := range l.Items {
			for _, r := range clusterOfPod(ctx, &l.Items[i]) {
				seen[r] = true
			}
		}
		return slices.Collect(maps.Keys(seen))
	}
}

// usersOf maps a catalog object to the clusters that use it, or would if it
// existed.
func usersOf(c client.Client, uses func(*v1alpha1.ValkeyCluster, catalog.Catalog, string) bool) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		cat, err := readCatalog(ctx, c)
		if err != nil {
			return nil
		}
		return requests(ctx, c, "", func(vc *v1alpha1.ValkeyCluster) bool { return uses(vc, cat, obj.GetName()) })
	}
}

func requests(ctx context.Context, c client.Client, namespace string, ok func(*v1alpha1.ValkeyCluster) bool) []reconcile.Request {
	l := &v1alpha1.ValkeyClusterList{}
	if err := c.List(ctx, l, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range l.Items {
		if ok(&l.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&l.Items[i])})
		}
	}
	return out
}

func usesConfig(c *v1alpha1.ValkeyCluster, cat catalog.Catalog, name string) bool {
	configs, _ := catalog.References(cat, c.Spec.ConfigRef)
	return slices.Contains(configs, name)
}

func usesImage(c *v1alpha1.ValkeyCluster, cat catalog.Catalog, name string) bool {
	_, images := catalog.References(cat, c.Spec.ConfigRef)
	return slices.Contains(images, name)
}

func usesRole(c *v1alpha1.ValkeyCluster, cat catalog.Catalog, name string) bool {
	configs, _ := catalog.References(cat, c.Spec.ConfigRef)
	bindings := slices.Clone(c.Spec.ACL)
	for _, n := range configs {
		if a := cat.Configs[n].ACL; a != nil {
			bindings = append(bindings, *a...)
		}
	}
	return slices.ContainsFunc(bindings, func(b v1alpha1.ACLBinding) bool {
		return slices.ContainsFunc(b.Permissions, func(p v1alpha1.Permission) bool { return p.RoleRef == name })
	})
}

func tlsUsersOf(c client.Client) func(context.Context, *metav1.PartialObjectMetadata) []reconcile.Request {
	return func(ctx context.Context, s *metav1.PartialObjectMetadata) []reconcile.Request {
		return requests(ctx, c, s.GetNamespace(), func(vc *v1alpha1.ValkeyCluster) bool {
			return vc.Spec.TLS != nil && vc.Spec.TLS.SecretRef == s.GetName()
		})
	}
}
