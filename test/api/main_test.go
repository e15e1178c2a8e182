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

// Package api tests the API as users meet it: what a real API server with the
// package's definitions admits, refuses, fills in and prints.
package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// kubeVar names the variable with the path of the kube binary, which is etcd,
// kube-apiserver or kubectl, depending on the name it is called by.
const kubeVar = "VALKEY_TEST_KUBE"

// The one API server of all tests.
var (
	config *rest.Config
	kube   client.Client
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts the API server, runs all tests against it and stops it.
func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "valkey-api-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := link(dir); err != nil {
		return 0, err
	}

	env := &envtest.Environment{
		BinaryAssetsDirectory: dir,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "package", "crds")},
		ErrorIfCRDPathMissing: true,
	}
	defer func() {
		if e := env.Stop(); e != nil && err == nil {
			err = fmt.Errorf("cannot stop the API server: %w", e)
		}
	}()
	if config, err = env.Start(); err != nil {
		return 0, fmt.Errorf("cannot start the API server: %w", err)
	}
	config.QPS = -1
	if err := errors.Join(v1alpha1.AddToScheme(scheme.Scheme), apiextensionsv1.AddToScheme(scheme.Scheme)); err != nil {
		return 0, err
	}
	if kube, err = strict(config); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// link makes the kube binary answer to the names that envtest looks for.
func link(dir string) error {
	path := os.Getenv(kubeVar)
	if path == "" {
		return fmt.Errorf("%s is not set: these tests need the path of the kube binary, which make sets", kubeVar)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// strict returns a client that refuses unknown fields, as kubectl does.
func strict(c *rest.Config) (client.Client, error) {
	cl, err := client.New(c, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, err
	}
	return client.WithFieldOwner(client.WithFieldValidation(cl, metav1.FieldValidationStrict), "test"), nil
}

// as returns a client that acts as another user.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	c := rest.CopyConfig(config)
	c.Impersonate = rest.ImpersonationConfig{UserName: user}
	cl, err := strict(c)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// background is the context of all requests.
var background = context.Background()
