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
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

func TestDesired(t *testing.T) {
	node := func(deleted bool, generation int64, finalizers ...string) *v1alpha1.ValkeyNode {
		n := &v1alpha1.ValkeyNode{}
		n.SetGeneration(generation)
		n.SetFinalizers(finalizers)
		if deleted {
			now := metav1.Now()
			n.SetDeletionTimestamp(&now)
		}
		return n
	}
	cases := map[string]struct {
		reason   string
		old, now *v1alpha1.ValkeyNode
		want     bool
	}{
		"Nothing":     {"An update without a change.", node(false, 1, "a"), node(false, 1, "a"), false},
		"Spec":        {"The spec changed.", node(false, 1, "a"), node(false, 2, "a"), true},
		"OwnAdded":    {"The reconciler's own finalizer needs no further pass.", node(false, 1), node(false, 1, "a"), false},
		"OthersGone":  {"The last other finalizer of a deleted one is gone.", node(true, 2, "a", "foregroundDeletion"), node(true, 2, "a"), true},
		"StillWaited": {"A deleted one whose finalizers stay.", node(true, 2, "a", "b"), node(true, 2, "a", "b"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Desired().Update(event.UpdateEvent{ObjectOld: tc.old, ObjectNew: tc.now}); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}
