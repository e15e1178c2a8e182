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
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

func TestKinds(t *testing.T) {
	// A kind as clients discover it.
	type kind struct {
		Kind       string
		Scope      apiextensionsv1.ResourceScope
		Categories []string
		ShortNames []string
		Status     bool
	}
	managed := []string{"crossplane", "managed", "valkey"}
	catalog := []string{"valkey"}

	cases := map[string]struct {
		reason string
		want   kind
	}{
		"valkeyimages":   {"The allowlist is the platform's.", kind{"ValkeyImage", apiextensionsv1.ClusterScoped, catalog, nil, true}},
		"valkeyconfigs":  {"The menu is the platform's.", kind{"ValkeyConfig", apiextensionsv1.ClusterScoped, catalog, nil, true}},
		"valkeyroles":    {"Roles are the platform's.", kind{"ValkeyRole", apiextensionsv1.ClusterScoped, catalog, nil, true}},
		"valkeyclusters": {"A cluster is its team's.", kind{"ValkeyCluster", apiextensionsv1.NamespaceScoped, managed, []string{"vkc"}, true}},
		"valkeynodes":    {"A node lives beside its cluster.", kind{"ValkeyNode", apiextensionsv1.NamespaceScoped, managed, []string{"vkn"}, true}},
	}

	for plural, tc := range cases {
		t.Run(tc.want.Kind, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := kube.Get(background, types.NamespacedName{Name: plural + "." + v1alpha1.Group}, crd); err != nil {
				t.Fatal(err)
			}
			n, v := crd.Spec.Names, crd.Spec.Versions[0]
			got := kind{n.Kind, crd.Spec.Scope, n.Categories, n.ShortNames, v.Subresources != nil && v.Subresources.Status != nil}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, plural, diff)
			}
			if v.Name != "v1alpha1" || len(crd.Spec.Versions) != 1 {
				t.Errorf("%s: want the one version v1alpha1, got %d with %s first", plural, len(crd.Spec.Versions), v.Name)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	active := cluster()
	active.Object["status"] = object{"state": "Active"}

	cases := map[string]struct {
		reason string
		obj    *unstructured.Unstructured
		want   [][]any
	}{
		"ValkeyImage":      {"An image shows what it permits.", image(), [][]any{{"Name", "Repository", "Tag", "Version"}, {"valkey-9-0", "valkey/valkey", "9.0.0", "9.0.0"}}},
		"ValkeyConfig":     {"A config shows where it comes from.", menu(object{"imageRef": "i", "baseRef": "b"}), [][]any{{"Name", "ImageRef", "BaseRef"}, {"standard", "i", "b"}}},
		"ValkeyConfigBare": {"What is unset shows as nothing.", menu(), [][]any{{"Name", "ImageRef", "BaseRef"}, {"standard", nil, nil}}},
		"ValkeyRole":       {"A role shows its age.", role(), [][]any{{"Name", "Age"}, {"cache", "some time"}}},
		"ValkeyCluster":    {"A cluster shows what was asked for and its state.", active, [][]any{{"Name", "Config", "Shards", "Replicas", "State"}, {"my-cluster", "standard", int64(3), int64(1), "Active"}}},
		"ValkeyClusterNew": {"A cluster has no state before the provider has seen it.", cluster(), [][]any{{"Name", "Config", "Shards", "Replicas", "State"}, {"my-cluster", "standard", int64(3), int64(1), nil}}},
		"ValkeyNode":       {"A node shows its cluster, image and phase.", node(), [][]any{{"Name", "Cluster", "Image", "Lifecycle"}, {"my-cluster-0a1b2", "my-cluster", "valkey/valkey:9.0.0", "Active"}}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := tc.obj.DeepCopy()
			store(t, u)
			if status, ok := tc.obj.Object["status"]; ok {
				u.Object["status"] = status
				if err := kube.Status().Update(background, u); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, table(t, u)); diff != "" {
				t.Errorf("\n%s\nkubectl get: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// table returns what kubectl get prints of an object: its columns and its row.
func table(t *testing.T, u *unstructured.Unstructured) [][]any {
	t.Helper()
	path := "/apis/" + u.GetAPIVersion()
	if u.GetNamespace() != "" {
		path += "/namespaces/" + u.GetNamespace()
	}
	path += "/" + strings.ToLower(u.GetKind()) + "s/" + u.GetName()

	out := &metav1.Table{}
	if err := json.Unmarshal(get(t, path, "application/json;as=Table;v=v1;g=meta.k8s.io"), out); err != nil {
		t.Fatal(err)
	}
	var columns, row []any
	for _, c := range out.ColumnDefinitions {
		columns = append(columns, c.Name)
	}
	for i, c := range out.Rows[0].Cells {
		if f, ok := c.(float64); ok {
			c = int64(f)
		}
		if out.ColumnDefinitions[i].Type == "date" && c != nil {
			c = "some time"
		}
		row = append(row, c)
	}
	return [][]any{columns, row}
}

// get returns the API server's answer for a path.
func get(t *testing.T, path, accept string) []byte {
	t.Helper()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(background, http.MethodGet, strings.TrimSuffix(config.Host, "/")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %v %s", path, res.Status, err, body)
	}
	return body
}

// TestExplain walks the schemas that kubectl explain prints.
func TestExplain(t *testing.T) {
	doc := &document{}
	if err := json.Unmarshal(get(t, "/openapi/v3/apis/"+v1alpha1.GroupVersion.String(), "application/json"), doc); err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		// fields is how many fields a kind has at least, so that a walk that
		// finds none does not pass.
		fields int
	}{
		"ValkeyImage":   {"Every field of an image is explained.", 10},
		"ValkeyConfig":  {"Every field of a config is explained.", 20},
		"ValkeyRole":    {"Every field of a role is explained.", 12},
		"ValkeyCluster": {"Every field of a cluster is explained.", 60},
		"ValkeyNode":    {"Every field of a node is explained.", 30},
	}

	for kind, tc := range cases {
		t.Run(kind, func(t *testing.T) {
			root, ok := doc.Components.Schemas["com.gomomento.valkey.v1alpha1."+kind]
			if !ok {
				t.Fatalf("no schema of %s", kind)
			}
			var silent []string
			n := 0
			doc.walk(root, strings.ToLower(kind), func(path string, s shape) {
				n++
				if strings.TrimSpace(s.Description) == "" {
					silent = append(silent, path)
				}
			})
			if diff := cmp.Diff([]string(nil), silent); diff != "" {
				t.Errorf("\n%s\nfields without a description: -want, +got:\n%s", tc.reason, diff)
			}
			if n < tc.fields {
				t.Errorf("%s: want at least %d fields, got %d", kind, tc.fields, n)
			}
		})
	}
}

// A document is as much of OpenAPI as the walk needs.
type document struct {
	Components struct {
		Schemas map[string]shape `json:"schemas"`
	} `json:"components"`
}

// A shape is as much of an OpenAPI schema as the walk needs.
type shape struct {
	Description          string           `json:"description"`
	Properties           map[string]shape `json:"properties"`
	Items                *shape           `json:"items"`
	AdditionalProperties *shape           `json:"additionalProperties"`
	AllOf                []shape          `json:"allOf"`
	Ref                  string           `json:"$ref"`
}

// walk visits all properties at and below a schema.
func (d *document) walk(s shape, path string, visit func(path string, s shape)) {
	if s.Ref != "" {
		d.walk(d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")], path, visit)
	}
	for _, part := range s.AllOf {
		d.walk(part, path, visit)
	}
	for _, part := range []*shape{s.Items, s.AdditionalProperties} {
		if part != nil {
			d.walk(*part, path, visit)
		}
	}
	for name, p := range s.Properties {
		visit(path+"."+name, p)
		d.walk(p, path+"."+name, visit)
	}
}
