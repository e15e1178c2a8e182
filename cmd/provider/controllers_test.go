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
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// kubeVar names the variable with the path of the kube binary, which is etcd,
// kube-apiserver or kubectl, depending on the name it is called by.
const kubeVar = "VALKEY_TEST_KUBE"

// patience is how long a test waits, on busy machines.
const patience = time.Minute

// TestSafeStart starts the provider on a Kubernetes that has none of its kinds,
// as Crossplane does, and brings them later. Then it changes something and looks
// at the change log: a process can run only one provider.
func TestSafeStart(t *testing.T) {
	kube, rc := apiServer(t)
	log := newSidecar(t)
	ready := start(t, "--enable-changelogs", "--changelogs-socket-path="+log.socket, "--network-policies")

	await(t, "the provider is ready without its kinds", ready)
	if _, err := envtest.InstallCRDs(rc, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "..", "package", "crds")}, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	cluster := &v1alpha1.ValkeyCluster{Spec: v1alpha1.ValkeyClusterSpec{ConfigRef: "nowhere", Shards: 1}}
	cluster.SetName("early")
	cluster.SetNamespace(corev1.NamespaceDefault)
	if err := kube.Create(t.Context(), cluster.DeepCopy()); err != nil {
		t.Fatal(err)
	}

	want := `ValkeyConfig "nowhere" not found`
	await(t, "the controllers work", func(ctx context.Context) error {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if cluster.Status.Message != want {
			return fmt.Errorf("message is %q, want %q", cluster.Status.Message, want)
		}
		return nil
	})
	if err := ready(t.Context()); err != nil {
		t.Errorf("the provider is not ready any more: %v", err)
	}

	image := &v1alpha1.ValkeyImage{Spec: v1alpha1.ValkeyImageSpec{Repository: "valkey/valkey", Tag: "9.1", Version: "9.1.0"}}
	image.SetName("image")
	config := &v1alpha1.ValkeyConfig{Spec: v1alpha1.ValkeyConfigSpec{ImageRef: "image"}}
	config.SetName("nowhere")
	if err := errors.Join(kube.Create(t.Context(), image), kube.Create(t.Context(), config)); err != nil {
		t.Fatal(err)
	}
	// The cluster's Service was made while it had no config: this is an update.
	await(t, "the change log tells of the cluster and its member", func(context.Context) error {
		var told []string
		for _, e := range log.seen() {
			told = append(told, e.GetKind()+" "+strings.TrimPrefix(e.GetOperation().String(), "OPERATION_TYPE_"))
		}
		if !slices.Contains(told, "ValkeyCluster UPDATE") || !slices.Contains(told, "ValkeyNode CREATE") {
			return fmt.Errorf("it tells of %v", told)
		}
		return nil
	})
	checkPolicies(t, kube)
	checkPermissions(t, kube, rc)
}

// A sidecar takes the change log, as Crossplane's does.
type sidecar struct {
	changelogs.UnimplementedChangeLogServiceServer
	socket string

	mu      sync.Mutex
	entries []*changelogs.ChangeLogEntry
}

func newSidecar(t *testing.T) *sidecar {
	t.Helper()
	s := &sidecar{socket: filepath.Join(t.TempDir(), "log.sock")}
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	changelogs.RegisterChangeLogServiceServer(srv, s)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	return s
}

func (s *sidecar) SendChangeLog(_ context.Context, r *changelogs.SendChangeLogRequest) (*changelogs.SendChangeLogResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, r.GetEntry())
	return &changelogs.SendChangeLogResponse{}, nil
}

func (s *sidecar) seen() []*changelogs.ChangeLogEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// apiServer starts an API server without the provider's kinds and makes the
// provider find it.
func apiServer(t *testing.T) (client.Client, *rest.Config) {
	t.Helper()
	dir := t.TempDir()
	bin := os.Getenv(kubeVar)
	if bin == "" {
		t.Fatalf("%s is not set: this test needs the path of the kube binary, which make sets", kubeVar)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.Symlink(bin, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := &envtest.Environment{BinaryAssetsDirectory: dir}
	rc, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("cannot stop the API server: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	err = clientcmd.WriteToFile(api.Config{
		CurrentContext: "test",
		Contexts:       map[string]*api.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		Clusters:       map[string]*api.Cluster{"test": {Server: rc.Host, CertificateAuthorityData: rc.CAData}},
		AuthInfos:      map[string]*api.AuthInfo{"test": {ClientCertificateData: rc.CertData, ClientKeyData: rc.KeyData}},
	}, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	kube, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return kube, rc
}

// start runs the provider until the test ends, and returns what asks whether it
// is ready.
func start(t *testing.T, args ...string) func(context.Context) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	health := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, flags(append(args, "--metrics-bind-address=0", "--health-probe-bind-address="+health)))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the provider ended with: %v", err)
		}
	})
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		}
		return errors.Join(err, resp.Body.Close())
	}
}

// await waits until something works.
func await(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v, last: %v", what, err, last)
	}
}
