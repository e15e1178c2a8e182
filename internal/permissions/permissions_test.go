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

package permissions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/cluster/install"
)

func TestOf(t *testing.T) {
	const manifest = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
rules:
- apiGroups: [""]
  resources: [pods, pods/status]
  verbs: [get, patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [delete]
`
	got, err := Of([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	want := []Permission{{"", "pods", "get"}, {"", "pods", "patch"}, {"", "pods/status", "get"}, {"", "pods/status", "patch"}, {"policy", "poddisruptionbudgets", "delete"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff("get, patch pods; get, patch pods/status; delete poddisruptionbudgets.policy", Describe(got)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestOfBroken(t *testing.T) {
	if got, err := Of([]byte("rules: 5")); err == nil {
		t.Errorf("got %v", got)
	}
}

// TestOfShipped fails for a role of which nothing would be checked.
func TestOfShipped(t *testing.T) {
	got, err := Of(install.ClusterRole)
	if err != nil || len(got) < 40 {
		t.Errorf("%d permissions: %v", len(got), err)
	}
}
