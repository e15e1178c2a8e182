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

package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An applier brings a manifest to the API server.
type applier func(u *unstructured.Unstructured) error

// appliers are the ways in which users bring manifests.
var appliers = map[string]applier{
	"Create": func(u *unstructured.Unstructured) error { return kube.Create(background, u) },
	"ServerSideApply": func(u *unstructured.Unstructured) error {
		data, err := json.Marshal(u)
		if err != nil {
			return err
		}
		return kube.Patch(background, u, client.RawPatch(types.ApplyPatchType, data))
	},
}

// TestManifests brings whole files, with strict checks, and looks for every
// object of them as it was written.
func TestManifests(t *testing.T) {
	cases := map[string]struct {
		reason string
		file   string
		// kinds and names of the objects of the file.
		want []string
	}{
		"Menu":       {"The documents' menu and cluster apply unchanged.", "testdata/menu.yaml", []string{"ValkeyImage/valkey-9-0", "ValkeyConfig/standard", "ValkeyConfig/large", "ValkeyCluster/my-cluster"}},
		"Reference":  {"The reference's example applies unchanged but for the hash that it leaves out.", "testdata/reference.yaml", []string{"ValkeyCluster/my-cluster"}},
		"Documented": {"Every documented field is known.", "testdata/documented.yaml", []string{"ValkeyImage/documented", "ValkeyConfig/documented", "ValkeyRole/documented", "ValkeyCluster/documented", "ValkeyNode/documented-0a1b2"}},
		"Images":     {"The example of the allowlist works.", "../../examples/catalog/valkeyimage.yaml", []string{"ValkeyImage/valkey-9-0"}},
		"Configs":    {"The example of the menu works.", "../../examples/catalog/valkeyconfig.yaml", []string{"ValkeyConfig/standard", "ValkeyConfig/large"}},
		"Roles":      {"The example of roles works.", "../../examples/catalog/valkeyrole.yaml", []string{"ValkeyRole/app-readwrite", "ValkeyRole/metrics-readonly"}},
		"Cluster":    {"The example of a cluster works.", "../../examples/valkeycluster/valkeycluster.yaml", []string{"Namespace/my-app", "ValkeyCluster/my-cluster"}},
		"Complete":   {"The example of a complete cluster works.", "../../examples/valkeycluster/complete.yaml", []string{"Namespace/my-app", "ValkeyCluster/secure"}},
		"Quickstart": {"The menu of the quickstart works.", "../../examples/quickstart/menu.yaml", []string{"ValkeyImage/valkey-8-1", "ValkeyConfig/standard", "ValkeyConfig/large"}},
		"Demo":       {"What the demo runs works.", "../../hack/demo/demo.yaml", []string{"ValkeyImage/demo-8-1", "ValkeyImage/demo-9-1", "ValkeyConfig/demo", "Namespace/demo", "ValkeyCluster/hello"}},
	}

	namespace(t, "my-app")
	namespace(t, "demo")
	for how, apply := range appliers {
		for name, tc := range cases {
			t.Run(how+"/"+name, func(t *testing.T) {
				var got []string
				for _, want := range manifests(t, tc.file) {
					got = append(got, want.GetKind()+"/"+want.GetName())
					if want.GetKind() == "Namespace" {
						continue
					}
					u := want.DeepCopy()
					if err := apply(u); err != nil {
						t.Fatalf("\n%s\n%s/%s: %v", tc.reason, u.GetKind(), u.GetName(), err)
					}
					t.Cleanup(func() { _ = kube.Delete(background, u) })
					if diff := cmp.Diff(want.Object["spec"], u.Object["spec"], undefaulted); diff != "" {
						t.Errorf("\n%s\nspec of %s/%s: -want, +got:\n%s", tc.reason, u.GetKind(), u.GetName(), diff)
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tc.file, diff)
				}
			})
		}
	}
}

// TestExamplesAreTested fails for an example that no case of TestManifests has.
func TestExamplesAreTested(t *testing.T) {
	var got []string
	for _, dir := range []string{"catalog", "valkeycluster"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "examples", dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			got = append(got, dir+"/"+filepath.Base(f))
		}
	}
	want := []string{"catalog/valkeyconfig.yaml", "catalog/valkeyimage.yaml", "catalog/valkeyrole.yaml", "valkeycluster/complete.yaml", "valkeycluster/valkeycluster.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("\nEvery example is a case of TestManifests.\nexamples: -want, +got:\n%s", diff)
	}
}

// TestManifestUnknownField shows that the checks of TestManifests are strict.
func TestManifestUnknownField(t *testing.T) {
	for how, apply := range appliers {
		t.Run(how, func(t *testing.T) {
			if err := apply(cluster(object{"replicas": int64(1)})); err == nil {
				t.Error("want a field that does not exist to be refused, got no error")
			}
		})
	}
}

// undefaulted ignores the fields that the API server fills in.
var undefaulted = cmp.FilterPath(func(p cmp.Path) bool {
	i, ok := p.Last().(cmp.MapIndex)
	if !ok || !slices.Contains([]string{"managementPolicies", "access", "lifecycle"}, i.Key().String()) {
		return false
	}
	want, _ := i.Values()
	return !want.IsValid()
}, cmp.Ignore())

// manifests returns the objects of a YAML file.
func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, file, bytes.ReplaceAll(data, []byte("<sha256-hex-of-password>"), []byte(hash)))
}

// objects returns the objects in some YAML.
func objects(t *testing.T, where string, data []byte) []*unstructured.Unstructured {
	t.Helper()
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data))
	var out []*unstructured.Unstructured
	for {
		u := &unstructured.Unstructured{}
		if err := d.Decode(u); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		out = append(out, u)
	}
}

// namespace makes sure that a namespace exists. It stays: no controller that
// could empty it runs here.
func namespace(t *testing.T, name string) {
	t.Helper()
	u := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}}}
	if err := kube.Create(background, u); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
