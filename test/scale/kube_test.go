//go:build scale

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

package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/cluster/install"
)

// kubeVar names the variable with the path of the kube binary, which is etcd or
// kube-apiserver, depending on the name it is called by.
const kubeVar = "VALKEY_TEST_KUBE"

// providerUser is who the provider is to the API server: a ServiceAccount, so
// that the API server's fairness treats it as one.
const providerUser = "system:serviceaccount:valkey-system:provider-valkey"

// A kube is an API server with the provider's kinds.
type kube struct {
	client.Client
	cache      cache.Cache
	audit      string
	kubeconfig string
}

// newKube starts an API server until the test ends.
func newKube(t *testing.T) *kube {
	t.Helper()
	dir := t.TempDir()
	if err := link(dir); err != nil {
		t.Fatal(err)
	}
	k := &kube{audit: filepath.Join(dir, "audit.log"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	env := &envtest.Environment{
		BinaryAssetsDirectory: dir,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "package", "crds")},
		ErrorIfCRDPathMissing: true,
	}
	policy, err := filepath.Abs(filepath.Join("testdata", "audit-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	env.ControlPlane.GetAPIServer().Configure().
		// Without a default route it finds none by itself.
		Append("advertise-address", "10.64.255.254").
		Append("audit-policy-file", policy).
		Append("audit-log-path", k.audit).
		// Counting would miss what was rotated away.
		Append("audit-log-maxsize", "20000")
	log, err := os.Create(filepath.Join(dir, "apiserver.log"))
	if err != nil {
		t.Fatal(err)
	}
	env.ControlPlane.GetAPIServer().Err = log
	env.ControlPlane.Etcd = &envtest.Etcd{}
	env.ControlPlane.Etcd.Configure().Append("quota-backend-bytes", fmt.Sprint(8<<30))
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("cannot stop the API server: %v", err)
		}
	})
	config, err := startLavishly(env)
	if err != nil {
		words, _ := os.ReadFile(log.Name())
		t.Fatalf("cannot start the API server: %v\n%s", err, words[max(0, len(words)-2000):])
	}
	config.QPS = -1
	if err := errors.Join(k.connect(t, config), k.admit(t.Context(), env)); err != nil {
		t.Fatal(err)
	}
	return k
}

// startLavishly starts etcd and the API server with more memory than they need:
// nobody measures them, and their garbage collection takes time from the others.
func startLavishly(env *envtest.Environment) (*rest.Config, error) {
	const name = "GOGC"
	had, set := os.LookupEnv(name)
	if err := os.Setenv(name, "400"); err != nil {
		return nil, err
	}
	config, err := env.Start()
	if !set {
		return config, errors.Join(err, os.Unsetenv(name))
	}
	return config, errors.Join(err, os.Setenv(name, had))
}

// link makes the kube binary answer to the names that envtest looks for.
func link(dir string) error {
	path := os.Getenv(kubeVar)
	if path == "" {
		return fmt.Errorf("%s is not set: this test needs the path of the kube binary, which make sets", kubeVar)
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

// connect makes the test's own client and cache.
func (k *kube) connect(t *testing.T, config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	if k.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	k.cache, err = cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { _ = k.cache.Start(ctx) }()
	return nil
}

// admit gives the provider the rights that it is installed with.
func (k *kube) admit(ctx context.Context, env *envtest.Environment) error {
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(install.ClusterRole, role); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: providerUser}},
	}
	if err := errors.Join(k.Create(ctx, role), k.Create(ctx, binding)); err != nil {
		return err
	}
	user, err := env.AddUser(envtest.User{Name: providerUser, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:valkey-system"}}, nil)
	if err != nil {
		return err
	}
	config, err := user.KubeConfig()
	if err != nil {
		return err
	}
	return os.WriteFile(k.kubeconfig, config, 0o600)
}
