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

	networkingv1 "k8s.io/api/networking/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// TestPolicies follows the policy of a cluster from the flag for it, over an edit and
// a policy of somebody else, to the end of the flag. With a flag of its own it is
// not parallel to others.
func TestPolicies(t *testing.T) {
	s := newSpace(t, 1)
	s.run("a", menu(newest), 1, 0)
	s.awaitConverged("a", time.Minute)
	provider.with(t, "--network-policies")
	s.policy("made", true)
	p := &networkingv1.NetworkPolicy{}
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: s.name, Name: manifest.NetworkPolicyName("a")}, p); err != nil {
		t.Fatal(err)
	}
	p.Spec.Ingress = nil
	if err := kube.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	s.policy("put right", true)
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny", Namespace: s.name}}
	s.apply(deny)
	s.policy("taken away beside a stricter one", false)
	if err := kube.Delete(t.Context(), deny); err != nil {
		t.Fatal(err)
	}
	s.policy("made again", true)
	provider.restart(t)
	s.policy("taken away with the flag", false)
}

// policy awaits that the policy of cluster a is as the provider makes it, or gone.
func (s *space) policy(what string, there bool) {
	s.Helper()
	d := s.await("the policy is "+what, 20*time.Second, func(ctx context.Context) (bool, string, error) {
		p := &networkingv1.NetworkPolicy{}
		err := kube.Get(ctx, client.ObjectKey{Namespace: s.name, Name: manifest.NetworkPolicyName("a")}, p)
		if client.IgnoreNotFound(err) != nil {
			return false, "", err
		}
		have := err == nil && len(p.Spec.Ingress) > 0
		return have == there && (there || kerrors.IsNotFound(err)), fmt.Sprintf("it has %d rules (%v)", len(p.Spec.Ingress), err), nil
	})
	s.Logf("the policy is %s after %s", what, d.Round(100*time.Millisecond))
}
