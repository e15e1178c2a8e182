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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// argsVar has this binary be the provider, with the arguments that it holds: a
// process can run only one.
const argsVar = "VALKEY_TEST_PROVIDER_ARGS"

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(argsVar); ok {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		return
	}
	os.Exit(m.Run())
}

// startProcess runs the provider in a process of its own until the test ends.
func startProcess(t *testing.T, args ...string) {
	t.Helper()
	log := &strings.Builder{}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), argsVar+"="+strings.Join(append(args, "--metrics-bind-address=0", "--health-probe-bind-address=0"), " "))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Errorf("the provider ended with: %v", err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
}

// TestPoliciesGoWithTheirFlag starts a provider without the flag for policies where
// one with it has been before.
func TestPoliciesGoWithTheirFlag(t *testing.T) {
	kube, rc := apiServer(t)
	if _, err := envtest.InstallCRDs(rc, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "..", "package", "crds")}, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	policies := map[string]*networkingv1.NetworkPolicy{}
	for _, name := range []string{"a", "b"} {
		c := &v1alpha1.ValkeyCluster{Spec: v1alpha1.ValkeyClusterSpec{ConfigRef: "nowhere", Shards: 1}}
		c.SetName(name)
		c.SetNamespace(corev1.NamespaceDefault)
		if err := kube.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		policies[name] = manifest.NetworkPolicy(c)
	}
	// What nobody controls is a person's, whatever its name and labels.
	policies["b"].SetOwnerReferences(nil)
	policies["unlabelled"] = policies["a"].DeepCopy()
	policies["unlabelled"].SetName("unlabelled")
	policies["unlabelled"].SetLabels(nil)
	for _, p := range policies {
		if err := kube.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}

	startProcess(t)
	get := func(ctx context.Context, name string, obj client.Object) error {
		return kube.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: name}, obj)
	}
	await(t, "the policy that the provider made is gone", func(ctx context.Context) error {
		err := get(ctx, "a", &networkingv1.NetworkPolicy{})
		if err == nil {
			err = errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
	// A pass writes and deletes all objects at once.
	await(t, "the other cluster was worked on", func(ctx context.Context) error { return get(ctx, "b", &corev1.Service{}) })
	for _, name := range []string{"b", "unlabelled"} {
		if err := get(t.Context(), name, &networkingv1.NetworkPolicy{}); err != nil {
			t.Errorf("NetworkPolicy %s of somebody else: %v", name, err)
		}
	}
}
