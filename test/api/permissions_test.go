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
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-valkey/cluster/install"
	"github.com/crossplane-contrib/provider-valkey/internal/permissions"
)

// TestProviderPermissions asks as the provider does at its start whether it has
// the rights of the role that it is shipped with.
func TestProviderPermissions(t *testing.T) {
	shipped := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(install.ClusterRole, shipped); err != nil {
		t.Fatal(err)
	}
	want, err := permissions.Of(install.ClusterRole)
	if err != nil {
		t.Fatal(err)
	}
	bind := func(user string, rules []rbacv1.PolicyRule) {
		name := "provider-" + user
		store(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
		store(t, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	}
	bind("full", shipped.Rules)
	var less []rbacv1.PolicyRule
	for _, r := range shipped.Rules {
		r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(s string) bool { return s == "services" || s == "pods/status" })
		if len(r.Resources) > 0 {
			less = append(less, r)
		}
	}
	bind("less", less)

	cases := map[string]struct {
		reason string
		user   string
		want   string
	}{
		"Full": {"The shipped role has all that is checked.", "full", ""},
		"Less": {"What a trimmed role lacks is named.", "less", "patch pods/status; create, get, list, update, watch services"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			missing, err := permissions.Missing(background, as(t, tc.user), want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, permissions.Describe(missing)); diff != "" {
				t.Errorf("\n%s\nMissing(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
