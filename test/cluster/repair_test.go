//go:build cluster

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

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// TestObjectsArePutRight edits what is around the members by hand.
func TestObjectsArePutRight(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 1)
	s.run("a", menu(newest), 1, 0)
	s.awaitConverged("a", 60*time.Second)
	svc, pdb := &corev1.Service{}, &policyv1.PodDisruptionBudget{}
	cases := []struct {
		reason string
		obj    client.Object
		name   string
		spoil  func()
		right  func() bool
	}{
		{
			"Clients find no member that is not ready yet.", svc, manifest.ServiceName("a"),
			func() { svc.Spec.PublishNotReadyAddresses = false },
			func() bool { return svc.Spec.PublishNotReadyAddresses },
		},
		{
			"Every member could be evicted.", pdb, manifest.PDBName("a", 0),
			func() { pdb.Spec.MaxUnavailable, pdb.Spec.MinAvailable = new(intstr.FromInt32(9)), nil },
			func() bool { return pdb.Spec.MaxUnavailable == nil || pdb.Spec.MaxUnavailable.IntValue() != 9 },
		},
	}
	for _, tc := range cases {
		key := client.ObjectKey{Namespace: s.name, Name: tc.name}
		if err := kube.Get(t.Context(), key, tc.obj); err != nil {
			t.Fatal(err)
		}
		tc.spoil()
		if err := kube.Update(t.Context(), tc.obj); err != nil {
			t.Fatal(err)
		}
		d := s.await(tc.reason+" It is put right", 20*time.Second, func(ctx context.Context) (bool, string, error) {
			err := kube.Get(ctx, key, tc.obj)
			return err == nil && tc.right(), fmt.Sprintf("%T is as edited", tc.obj), err
		})
		t.Logf("%T was put right after %s", tc.obj, d.Round(100*time.Millisecond))
	}
}
