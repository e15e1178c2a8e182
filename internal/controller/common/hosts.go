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

package common

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// A Host is what matters of a Kubernetes node that pods run on.
type Host struct {
	// Zone that it is in, if it says so.
	Zone string
	// Cordoned means that its pods are expected to go somewhere else.
	Cordoned bool
	// Lost means that it is gone or does not report that it works.
	Lost bool
}

// HostOf reads a Host from its Kubernetes node.
func HostOf(n *corev1.Node) Host {
	h := Host{Zone: n.Labels[corev1.LabelTopologyZone], Cordoned: n.Spec.Unschedulable, Lost: !nodeReady(n)}
	for _, t := range n.Spec.Taints {
		switch t.Key {
		case corev1.TaintNodeUnschedulable:
			h.Cordoned = true
		case corev1.TaintNodeUnreachable:
			h.Lost = true
		}
	}
	return h
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// FindHost returns the Host of a name. That it is gone is only believed if the
// API server says so too: the cache may not know a new one yet.
func FindHost(ctx context.Context, cached, live client.Reader, name string) (Host, error) {
	n := &corev1.Node{}
	err := cached.Get(ctx, client.ObjectKey{Name: name}, n)
	if kerrors.IsNotFound(err) {
		err = live.Get(ctx, client.ObjectKey{Name: name}, n)
	}
	if kerrors.IsNotFound(err) {
		return Host{Lost: true}, nil
	}
	if err != nil {
		return Host{}, fmt.Errorf("cannot get node %s: %w", name, err)
	}
	return HostOf(n), nil
}

// StripNode is a cache transform that keeps of a Kubernetes node what a Host is
// read from: whole nodes are large, and there may be thousands.
func StripNode(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}}
	if z, ok := n.Labels[corev1.LabelTopologyZone]; ok {
		out.Labels = map[string]string{corev1.LabelTopologyZone: z}
	}
	out.Spec.Unschedulable, out.Spec.Taints = n.Spec.Unschedulable, n.Spec.Taints
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return out, nil
}

// HostChanged passes changes of a Kubernetes node that concern the pods on it.
// None run on a new one.
func HostChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.Node)
			after, also := e.ObjectNew.(*corev1.Node)
			return ok && also && HostOf(before) != HostOf(after)
		},
	}
}
