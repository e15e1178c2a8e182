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
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func aNode(edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n1", Annotations: map[string]string{"large": "thing"},
			Labels: map[string]string{corev1.LabelTopologyZone: "zone-a", corev1.LabelHostname: "n1"},
		},
		Status: corev1.NodeStatus{
			Images: []corev1.ContainerImage{{Names: []string{"valkey"}}},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
			},
		},
	}
	for _, e := range edits {
		e(n)
	}
	return n
}

func ready(s corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions[1].Status = s }
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func TestHostOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		node   *corev1.Node
		want   Host
	}{
		"Fine":        {"A node that works.", aNode(), Host{Zone: "zone-a"}},
		"Cordoned":    {"kubectl cordon sets the field.", aNode(cordoned), Host{Zone: "zone-a", Cordoned: true}},
		"Taint":       {"Some tools only set the taint.", aNode(tainted(corev1.TaintNodeUnschedulable)), Host{Zone: "zone-a", Cordoned: true}},
		"OtherTaint":  {"Other taints mean nothing to pods that run.", aNode(tainted("example.com/gpu")), Host{Zone: "zone-a"}},
		"Unknown":     {"A node that does not report is lost.", aNode(ready(corev1.ConditionUnknown)), Host{Zone: "zone-a", Lost: true}},
		"NotReady":    {"So is one that reports that it does not work.", aNode(ready(corev1.ConditionFalse)), Host{Zone: "zone-a", Lost: true}},
		"Unreachable": {"The taint says so too.", aNode(tainted(corev1.TaintNodeUnreachable)), Host{Zone: "zone-a", Lost: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, HostOf(tc.node)); diff != "" {
				t.Errorf("\n%s\nHostOf(...): -want, +got:\n%s", tc.reason, diff)
			}
			stripped, err := StripNode(tc.node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, HostOf(stripped.(*corev1.Node))); diff != "" {
				t.Errorf("\n%s\nHostOf(StripNode(...)): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStripNode(t *testing.T) {
	got, err := StripNode(aNode())
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "zone-a"}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("StripNode(...): -want, +got:\n%s", diff)
	}
}

func TestFindHost(t *testing.T) {
	reader := func(ns ...client.Object) client.Reader {
		return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(ns...).Build()
	}
	cases := map[string]struct {
		reason       string
		cached, live client.Reader
		want         Host
	}{
		"Cached": {"The cache is asked first.", reader(aNode(cordoned)), reader(), Host{Zone: "zone-a", Cordoned: true}},
		"New":    {"The cache may not know a new node yet.", reader(), reader(aNode()), Host{Zone: "zone-a"}},
		"Gone":   {"One that nobody knows is gone.", reader(), reader(), Host{Lost: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := FindHost(context.Background(), tc.cached, tc.live, "n1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nFindHost(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHostChanged(t *testing.T) {
	p := HostChanged()
	cases := map[string]struct {
		reason string
		got    bool
		want   bool
	}{
		"Heartbeat": {"A node that only says that it lives wakes nobody.", p.Update(event.UpdateEvent{ObjectOld: aNode(), ObjectNew: aNode()}), false},
		"Cordon":    {"A cordon concerns the pods on the node.", p.Update(event.UpdateEvent{ObjectOld: aNode(), ObjectNew: aNode(cordoned)}), true},
		"Loss":      {"So does its loss.", p.Update(event.UpdateEvent{ObjectOld: aNode(), ObjectNew: aNode(ready(corev1.ConditionUnknown))}), true},
		"Delete":    {"And that it is gone.", p.Delete(event.DeleteEvent{Object: aNode()}), true},
		"Create":    {"A new node has no pods.", p.Create(event.CreateEvent{Object: aNode()}), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("%s\ngot %v, want %v", tc.reason, tc.got, tc.want)
			}
		})
	}
}
