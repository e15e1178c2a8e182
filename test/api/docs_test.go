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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/test/docs"
)

// TestDocs has the API server look at every manifest in the documentation, as it
// stands there, and keep none.
func TestDocs(t *testing.T) {
	blocks, err := docs.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, b := range blocks {
		if b.Lang != docs.LangYAML || b.Mark == docs.MarkNotApplied {
			continue
		}
		for _, u := range objects(t, b.Where(), []byte(b.Text)) {
			tried++
			if err := dryRun(t, u); err != nil {
				t.Errorf("%s: %s %s: %v", b.Where(), u.GetKind(), u.GetName(), err)
			}
		}
	}
	if tried == 0 {
		t.Error("the documentation has no manifest")
	}
}

// TestDryRun shows that TestDocs would find a manifest that is wrong.
func TestDryRun(t *testing.T) {
	if err := dryRun(t, cluster(object{"replicas": int64(1)})); err == nil {
		t.Error("want a field that does not exist to be refused, got no error")
	}
}

func dryRun(t *testing.T, u *unstructured.Unstructured) error {
	t.Helper()
	if ns := u.GetNamespace(); ns != "" {
		namespace(t, ns)
	}
	data, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	return kube.Patch(background, u, client.RawPatch(types.ApplyPatchType, data), client.DryRunAll)
}
