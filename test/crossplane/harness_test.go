//go:build crossplane

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

// Package crossplane tests the provider as a Crossplane package: real Crossplane
// installs it from a registry on a real Kubernetes, composes clusters with it,
// upgrades it and removes it.
package crossplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// binVar names the variable with the folder of the CLI, core and functions.
	binVar = "VALKEY_TEST_CROSSPLANE_BIN"
	// registry is where cluster/crossplane serves packages.
	registry = "172.30.0.1:5000"
	// root of the repository.
	root = "../.."
	// script runs Crossplane on the local Kubernetes.
	script = root + "/cluster/crossplane/crossplane"
	// patience is how long a step may take on a busy machine.
	patience = 4 * time.Minute
)

// versions of the package: the one installed first and the one it is upgraded
// to.
var versions = []string{"v0.1.0", "v0.2.0"}

// kube is a client of the local Kubernetes.
var kube client.Client

func pkg(name string) string { return registry + "/" + name }

// crossplaneUp starts Crossplane and pushes the packages. It all goes when the
// test ends.
func crossplaneUp(t *testing.T) {
	t.Helper()
	ctrllog.SetLogger(logr.Discard())
	rc, err := ctrl.GetConfig()
	if err != nil {
		t.Fatalf("cannot find Kubernetes, run the tests with \"cluster/local/local exec\": %v", err)
	}
	rc.QPS = -1
	if kube, err = client.New(rc, client.Options{}); err != nil {
		t.Fatal(err)
	}
	clearKinds(t)
	t.Cleanup(func() {
		defer run(t, script, "down")
		sweep(t)
	})
	run(t, script, "up")
	for _, v := range versions {
		run(t, script, "push", fmt.Sprintf("%s/_output/xpkg/linux_amd64/provider-valkey-%s.xpkg", root, v), "provider-valkey:"+v)
	}
}

// clearKinds removes the provider's kinds, which other tests may have left
// behind, and brings them back when the test ends.
func clearKinds(t *testing.T) {
	t.Helper()
	crds := read(t, root+"/package/crds/*.yaml")
	clusters := list("valkey.gomomento.com/v1alpha1", "ValkeyCluster")
	switch err := kube.List(t.Context(), clusters); {
	case kerrors.IsNotFound(err), meta.IsNoMatchError(err):
		return
	case err == nil && len(clusters.Items) > 0:
		t.Fatalf("there are %d ValkeyClusters already", len(clusters.Items))
	}
	for _, crd := range crds {
		remove(t, crd)
	}
	t.Cleanup(func() {
		for _, crd := range crds {
			apply(t, crd.DeepCopy())
		}
	})
}

// sweep deletes what a step that failed left behind, while the provider still
// runs, so that "down" finds no object that waits for its controller.
func sweep(t *testing.T) {
	t.Helper()
	for _, u := range []*unstructured.Unstructured{
		cache("sessions"), cache("secure"), valkeyCluster(),
		object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "", "caches.platform.example.org"),
		object("protection.crossplane.io/v1beta1", "ClusterUsage", "", "provider-valkey"), provider(),
		object("v1", "Namespace", "", team),
	} {
		remove(t, u)
	}
}

// run runs a program and fails the test if that does.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// bin is the path of a program.
func bin(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(binVar)
	if dir == "" {
		t.Fatalf("set %s to the folder of the programs that cluster/crossplane builds", binVar)
	}
	return filepath.Join(dir, name)
}

// read returns the objects in the files that match a pattern.
func read(t *testing.T, pattern string) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	var out []*unstructured.Unstructured
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
		for {
			u := &unstructured.Unstructured{}
			err := d.Decode(u)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			out = append(out, u)
		}
	}
	return out
}

// object returns a reference to an object that may exist.
func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func list(apiVersion, kind string) *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind+"List"))
	return l
}

// set changes a field of an object that is not applied yet.
func set(t *testing.T, u *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// apply brings an object as it is written.
func apply(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	data, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	// A kind may have been defined a moment ago.
	await(t, "apply "+named(u), func(ctx context.Context) error {
		return kube.Patch(ctx, u.DeepCopy(), client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("test"), client.ForceOwnership)
	})
}

func applyAll(t *testing.T, objs []*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objs {
		apply(t, u)
	}
}

// patch merges fields into an object.
func patch(t *testing.T, u *unstructured.Unstructured, fields string) {
	t.Helper()
	if err := kube.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(fields))); err != nil {
		t.Fatalf("patch %s: %v", named(u), err)
	}
}

// remove deletes an object and waits until it is gone.
func remove(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if err := kube.Delete(context.Background(), u.DeepCopy()); ignoreGone(err) != nil {
		t.Errorf("delete %s: %v", named(u), err)
		return
	}
	await(t, named(u)+" is gone", func(ctx context.Context) error { return gone(ctx, u) })
}

// gone returns an error as long as an object exists.
func gone(ctx context.Context, u *unstructured.Unstructured) error {
	got := u.DeepCopy()
	if err := kube.Get(ctx, client.ObjectKeyFromObject(u), got); err != nil {
		return ignoreGone(err)
	}
	return fmt.Errorf("%s is still there: finalizers %v, conditions %v", named(u), got.GetFinalizers(), conditions(got))
}

func ignoreGone(err error) error {
	if err == nil || kerrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

func named(u *unstructured.Unstructured) string {
	return strings.TrimPrefix(u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName(), "/")
}

// await waits until something works.
func await(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	start, last := time.Now(), error(nil)
	err := wait.PollUntilContextTimeout(context.Background(), 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not after %s: %v", what, time.Since(start).Round(time.Second), last)
	}
	if d := time.Since(start); d > time.Second {
		t.Logf("%5.1f s  %s; before: %v", d.Seconds(), what, last)
	}
}

// awaitTrue waits until conditions of an object are True.
func awaitTrue(t *testing.T, u *unstructured.Unstructured, types ...string) *unstructured.Unstructured {
	t.Helper()
	got := u.DeepCopy()
	await(t, fmt.Sprintf("%s is %s", named(u), strings.Join(types, " and ")), func(ctx context.Context) error {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(u), got); err != nil {
			return err
		}
		have := conditions(got)
		for _, c := range types {
			if !strings.HasPrefix(have[c], "True") {
				return fmt.Errorf("conditions %v", have)
			}
		}
		return nil
	})
	return got
}

// conditions returns status, reason and message of all conditions by type.
func conditions(u *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok {
			out[fmt.Sprint(c["type"])] = strings.TrimSpace(fmt.Sprintf("%v %v %v", c["status"], c["reason"], orEmpty(c["message"])))
		}
	}
	return out
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}
