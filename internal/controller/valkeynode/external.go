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

package valkeynode

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/settings"
)

// lostPod is recorded as the pod of a member whose pod was made but never seen.
const lostPod = "never-seen"

// An external is the pod and the Secret of one member.
type external struct {
	client  client.Client
	live    client.Reader
	options common.Options
}

// Observe reports the member's pod. A pod that is gone after it existed counts
// as existing: there never is a second one.
func (e *external) Observe(ctx context.Context, n *v1alpha1.ValkeyNode) (managed.ExternalObservation, error) {
	pod, err := e.pod(ctx, n)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if meta.WasDeleted(n) {
		observeDeletion(n, pod)
		return managed.ExternalObservation{ResourceExists: pod != nil}, nil
	}
	if pod == nil && n.Status.PodUID == "" && meta.GetExternalCreateSucceeded(n).IsZero() {
		n.SetConditions(xpv2.Creating())
		return managed.ExternalObservation{}, nil
	}
	record(n, pod)
	if pod == nil {
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	c, err := e.cluster(ctx, n)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	missing := missingAnnotations(c, pod)
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: len(missing) == 0}, nil
}

// pod returns the member's pod, or nil.
func (e *external) pod(ctx context.Context, n *v1alpha1.ValkeyNode) (*corev1.Pod, error) {
	p := &corev1.Pod{}
	key := client.ObjectKeyFromObject(n)
	err := e.client.Get(ctx, key, p)
	// The cache may not have the pod yet that was just made.
	if kerrors.IsNotFound(err) && n.Status.PodUID == "" && !meta.GetExternalCreatePending(n).IsZero() {
		err = e.live.Get(ctx, key, p)
	}
	if kerrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot get pod %s: %w", key, err)
	}
	if !metav1.IsControlledBy(p, n) {
		return nil, fmt.Errorf("pod %s exists but does not belong to ValkeyNode %s; delete it or the node", key, n.GetName())
	}
	return p, nil
}

func (e *external) cluster(ctx context.Context, n *v1alpha1.ValkeyNode) (*v1alpha1.ValkeyCluster, error) {
	c := &v1alpha1.ValkeyCluster{}
	err := e.client.Get(ctx, types.NamespacedName{Namespace: n.GetNamespace(), Name: n.Spec.ClusterName}, c)
	if kerrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot get ValkeyCluster %s: %w", n.Spec.ClusterName, err)
	}
	return c, nil
}

// record writes what the pod tells into the status.
func record(n *v1alpha1.ValkeyNode, pod *corev1.Pod) {
	if pod == nil {
		if n.Status.PodUID == "" {
			n.Status.PodUID = lostPod
		}
		n.Status.Message = "the pod is gone; the member is being replaced"
		n.SetConditions(xpv2.Unavailable().WithMessage(n.Status.Message))
		return
	}
	n.Status.PodUID = string(pod.GetUID())
	n.Status.PodIP = pod.Status.PodIP
	n.Status.Message = common.PodTrouble(pod)
	switch {
	case podReady(pod):
		n.SetConditions(xpv2.Available())
	case common.PodEnded(pod):
		n.SetConditions(xpv2.Unavailable().WithMessage(n.Status.Message))
	case n.Status.Message != "":
		n.SetConditions(xpv2.Creating().WithMessage(n.Status.Message))
	default:
		n.SetConditions(xpv2.Creating())
	}
}

func observeDeletion(n *v1alpha1.ValkeyNode, pod *corev1.Pod) {
	n.SetConditions(xpv2.Deleting())
	if pod == nil {
		return
	}
	n.Status.Message = "waiting for the pod to end"
	if n.GetAnnotations()[manifest.AnnotationRetired] == "" {
		n.Status.Message = "waiting for the cluster to replace this member"
	}
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// missingAnnotations returns the annotations that the pod lacks or has with
// another value. Others are not ours to remove.
func missingAnnotations(c *v1alpha1.ValkeyCluster, pod *corev1.Pod) map[string]string {
	out := map[string]string{}
	if c == nil {
		return out
	}
	for k, v := range c.Spec.PodAnnotations {
		if have, ok := pod.GetAnnotations()[k]; !ok || have != v {
			out[k] = v
		}
	}
	return out
}

// Create makes the Secret and then the pod.
func (e *external) Create(ctx context.Context, n *v1alpha1.ValkeyNode) (managed.ExternalCreation, error) {
	c, err := e.cluster(ctx, n)
	if err != nil {
		return managed.ExternalCreation{}, err
	}
	if c == nil || meta.WasDeleted(c) {
		return managed.ExternalCreation{}, fmt.Errorf("ValkeyCluster %s is gone or being deleted; no pod is made", n.Spec.ClusterName)
	}
	auth := &corev1.Secret{}
	if err := e.live.Get(ctx, types.NamespacedName{Namespace: n.GetNamespace(), Name: manifest.AuthSecretName(c.GetName())}, auth); err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot get the passwords of ValkeyCluster %s: %w", c.GetName(), err)
	}
	conf := settings.Conf(n.Spec.ValkeySettings, string(auth.Data[manifest.KeyReplPassword]))
	if err := e.create(ctx, n, manifest.ConfigSecret(n, conf)); err != nil {
		return managed.ExternalCreation{}, err
	}
	return managed.ExternalCreation{}, e.create(ctx, n, manifest.Pod(n, manifest.PodOptions{
		Annotations:       c.Spec.PodAnnotations,
		DefaultZoneSpread: e.options.DefaultZoneSpread,
		ImagePullSecrets:  e.options.ImagePullSecrets,
		ACLSecret:         manifest.ACLSecretName(c.GetName()),
	}))
}

func (e *external) create(ctx context.Context, n *v1alpha1.ValkeyNode, obj client.Object) error {
	err := e.client.Create(ctx, obj)
	if !kerrors.IsAlreadyExists(err) {
		return wrapCreate(err, obj)
	}
	have := obj.DeepCopyObject().(client.Object)
	if err := e.live.Get(ctx, client.ObjectKeyFromObject(obj), have); err != nil {
		return wrapCreate(err, obj)
	}
	if !metav1.IsControlledBy(have, n) {
		return fmt.Errorf("%T %s exists already and does not belong to ValkeyNode %s", obj, obj.GetName(), n.GetName())
	}
	return nil
}

func wrapCreate(err error, obj client.Object) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot create %T %s: %w", obj, obj.GetName(), err)
}

// Update adds the annotations that the running pod lacks.
func (e *external) Update(ctx context.Context, n *v1alpha1.ValkeyNode) (managed.ExternalUpdate, error) {
	pod, err := e.pod(ctx, n)
	if err != nil || pod == nil {
		return managed.ExternalUpdate{}, err
	}
	c, err := e.cluster(ctx, n)
	if err != nil {
		return managed.ExternalUpdate{}, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": missingAnnotations(c, pod)}})
	if err != nil {
		return managed.ExternalUpdate{}, err
	}
	if err := e.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot annotate pod %s: %w", pod.GetName(), err)
	}
	return managed.ExternalUpdate{}, nil
}

// Delete stops the member's pod once the member may go: its cluster released it,
// or is itself gone, or the pod has ended anyway.
func (e *external) Delete(ctx context.Context, n *v1alpha1.ValkeyNode) (managed.ExternalDelete, error) {
	pod, err := e.pod(ctx, n)
	if err != nil || pod == nil {
		return managed.ExternalDelete{}, err
	}
	c, err := e.cluster(ctx, n)
	if err != nil {
		return managed.ExternalDelete{}, err
	}
	if !mayGo(n, c, pod) {
		return managed.ExternalDelete{}, nil
	}
	grace, err := e.grace(ctx, pod)
	if err != nil {
		return managed.ExternalDelete{}, err
	}
	if meta.WasDeleted(pod) && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) <= grace {
		return managed.ExternalDelete{}, nil
	}
	uid := pod.GetUID()
	err = e.client.Delete(ctx, pod, client.GracePeriodSeconds(grace), client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return managed.ExternalDelete{}, fmt.Errorf("cannot delete pod %s: %w", pod.GetName(), err)
	}
	return managed.ExternalDelete{}, nil
}

// stopGrace is the grace period in seconds of a pod that holds nothing any more.
const stopGrace = 1

// grace returns the grace period of a pod that may go. Nobody would ever confirm
// the end of one whose host does not report, so that it is deleted by force: its
// member was replaced, or is not to be, and should the host come back, it ends
// the containers of pods that it does not find any more.
func (e *external) grace(ctx context.Context, pod *corev1.Pod) (int64, error) {
	if pod.Spec.NodeName == "" {
		return stopGrace, nil
	}
	h, err := common.FindHost(ctx, e.client, e.live, pod.Spec.NodeName)
	if err != nil || !h.Lost {
		return stopGrace, err
	}
	return 0, nil
}

func mayGo(n *v1alpha1.ValkeyNode, c *v1alpha1.ValkeyCluster, pod *corev1.Pod) bool {
	return c == nil || meta.WasDeleted(c) || c.GetUID() != ownerUID(n) ||
		n.GetAnnotations()[manifest.AnnotationRetired] != "" || common.PodEnded(pod)
}

func ownerUID(n *v1alpha1.ValkeyNode) types.UID {
	if o := metav1.GetControllerOf(n); o != nil {
		return o.UID
	}
	return ""
}

// Disconnect does nothing.
func (e *external) Disconnect(context.Context) error { return nil }
