//go:build api

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

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// checkPolicies brings a policy that selects the pods of a cluster and takes it
// away again. The provider runs with the flag that makes policies.
func checkPolicies(t *testing.T, kube client.Client) {
	t.Helper()
	in := client.InNamespace(corev1.NamespaceDefault)
	ours := func(want int) func(context.Context) error {
		return func(ctx context.Context) error {
			l := &networkingv1.NetworkPolicyList{}
			if err := kube.List(ctx, l, in, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil {
				return err
			}
			if len(l.Items) != want {
				return fmt.Errorf("%d policies", len(l.Items))
			}
			return nil
		}
	}
	await(t, "the cluster has a policy", ours(1))
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny", Namespace: corev1.NamespaceDefault}}
	if err := kube.Create(t.Context(), deny); err != nil {
		t.Fatal(err)
	}
	await(t, "it has none beside a stricter one", ours(0))
	await(t, "an event tells of it", func(ctx context.Context) error {
		l := &corev1.EventList{}
		if err := kube.List(ctx, l, in); err != nil {
			return err
		}
		for _, e := range l.Items {
			if e.Reason == "NetworkPolicyLeftToOthers" && strings.Contains(e.Message, `NetworkPolicy "deny"`) {
				return nil
			}
		}
		return fmt.Errorf("none of %d events", len(l.Items))
	})
	if err := kube.Delete(t.Context(), deny); err != nil {
		t.Fatal(err)
	}
	await(t, "it has one again", ours(1))
}

// checkPermissions starts the check as a user who may do nothing.
func checkPermissions(t *testing.T, kube client.Client, rc *rest.Config) {
	t.Helper()
	nobody := rest.CopyConfig(rc)
	nobody.QPS = -1 // The time is for the answers, not for the client's own limit.
	nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	c, err := client.New(nobody, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	all := config{leaderElection: true, policies: true}
	needed, err := all.needed()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err = awaitPermissions(ctx, c, needed, logging.NewNopLogger())
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the check of somebody who may do nothing gave: %v", err)
	}
	for _, want := range []string{"create, delete, get, list, update, watch poddisruptionbudgets.policy", "create, get, update leases.coordination.k8s.io", "networkpolicies.networking.k8s.io", "cluster/install/clusterrole.yaml"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
	few, err := config{}.needed()
	if err != nil {
		t.Fatal(err)
	}
	if len(few) >= len(needed) {
		t.Errorf("without flags %d permissions are needed, with them %d", len(few), len(needed))
	}
	if err := awaitPermissions(t.Context(), kube, needed, logging.NewNopLogger()); err != nil {
		t.Errorf("an administrator may do all: %v", err)
	}
}
