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
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestGrace(t *testing.T) {
	node := func(ready corev1.ConditionStatus) client.Object {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n3"},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
		}
	}
	cases := map[string]struct {
		reason string
		host   string
		nodes  []client.Object
		want   int64
	}{
		"Fine":        {"a kubelet that reports ends the pod in order", "n3", []client.Object{node(corev1.ConditionTrue)}, stopGrace},
		"Unscheduled": {"a pod that runs nowhere needs no kubelet", "", nil, stopGrace},
		"Lost":        {"nobody would ever confirm the end of a pod on a lost node", "n3", []client.Object{node(corev1.ConditionUnknown)}, 0},
		"Gone":        {"nor of one whose node is gone", "n3", nil, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(tc.nodes...).Build()
			e := &external{client: c, live: c}
			got, err := e.grace(context.Background(), &corev1.Pod{Spec: corev1.PodSpec{NodeName: tc.host}})
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("%s\ngrace(...): got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
