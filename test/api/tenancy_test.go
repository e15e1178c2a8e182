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
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// The namespaces of two product teams.
const (
	mine   = "my-app"
	theirs = "their-app"
)

// follow, read, write and all are the verbs that a user may be allowed.
var (
	follow = []string{"list", "watch"}
	read   = append([]string{"get"}, follow...)
	write  = []string{"create", "update", "patch", "delete", "deletecollection"}
	all    = slices.Concat(read, write)
)

// targets are the resources that somebody might want to reach.
var targets = []authorizationv1.ResourceAttributes{
	{Group: v1alpha1.Group, Resource: "valkeyimages"},
	{Group: v1alpha1.Group, Resource: "valkeyimages", Subresource: "status"},
	{Group: v1alpha1.Group, Resource: "valkeyconfigs"},
	{Group: v1alpha1.Group, Resource: "valkeyconfigs", Subresource: "status"},
	{Group: v1alpha1.Group, Resource: "valkeyroles"},
	{Group: v1alpha1.Group, Resource: "valkeyroles", Subresource: "status"},
	{Group: v1alpha1.Group, Resource: "valkeyclusters"},
	{Group: v1alpha1.Group, Resource: "valkeyclusters", Namespace: mine},
	{Group: v1alpha1.Group, Resource: "valkeyclusters", Namespace: mine, Subresource: "status"},
	{Group: v1alpha1.Group, Resource: "valkeyclusters", Namespace: theirs},
	{Group: v1alpha1.Group, Resource: "valkeynodes"},
	{Group: v1alpha1.Group, Resource: "valkeynodes", Namespace: mine},
	{Group: v1alpha1.Group, Resource: "valkeynodes", Namespace: mine, Subresource: "status"},
	{Group: v1alpha1.Group, Resource: "valkeynodes", Namespace: theirs},
	{Resource: "pods", Namespace: mine},
	{Resource: "pods", Namespace: mine, Subresource: "exec"},
	{Resource: "pods", Namespace: mine, Subresource: "log"},
	{Resource: "secrets", Namespace: mine},
	{Resource: "configmaps", Namespace: mine},
	{Resource: "services", Namespace: mine},
	{Resource: "namespaces"},
	{Resource: "nodes"},
	{Resource: "nodes", Subresource: "proxy"},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: mine},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
}

// path names a target as resource/subresource@namespace.
func path(a authorizationv1.ResourceAttributes) string {
	out := a.Resource
	if a.Subresource != "" {
		out += "/" + a.Subresource
	}
	if a.Namespace != "" {
		out += "@" + a.Namespace
	}
	return out
}

// tenants installs the roles of the package and binds them.
func tenants(t *testing.T) {
	t.Helper()
	namespace(t, mine)
	namespace(t, theirs)
	for _, f := range []string{"tenancy.yaml", "clusterrole.yaml"} {
		for _, u := range manifests(t, "../../cluster/install/"+f) {
			store(t, u)
		}
	}
	bind := func(role string, users ...string) (metav1.ObjectMeta, rbacv1.RoleRef, []rbacv1.Subject) {
		var out []rbacv1.Subject
		for _, u := range users {
			out = append(out, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: u})
		}
		return metav1.ObjectMeta{Name: role}, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, out
	}
	team := &rbacv1.RoleBinding{}
	team.ObjectMeta, team.RoleRef, team.Subjects = bind("valkey-product-team", "team")
	team.Namespace = mine
	reader := &rbacv1.ClusterRoleBinding{}
	reader.ObjectMeta, reader.RoleRef, reader.Subjects = bind("valkey-catalog-reader", "team", "reader")
	platform := &rbacv1.ClusterRoleBinding{}
	platform.ObjectMeta, platform.RoleRef, platform.Subjects = bind("valkey-platform", "platform")
	provider := &rbacv1.ClusterRoleBinding{}
	provider.ObjectMeta, provider.RoleRef, provider.Subjects = bind("provider-valkey", "provider")
	for _, o := range []client.Object{team, reader, platform, provider} {
		store(t, o)
	}
}

// TestTenancy asks as each user for every verb on every target, so that a want
// is all that the user may do and, by what it lacks, all that it may not.
func TestTenancy(t *testing.T) {
	tenants(t)
	cases := map[string]struct {
		reason string
		user   string
		want   map[string][]string
	}{
		"ProductTeam": {
			reason: "A team owns its clusters, reads its nodes and the catalog, and reaches nothing else.",
			user:   "team",
			want: map[string][]string{
				"valkeyimages": read, "valkeyconfigs": read, "valkeyroles": read,
				"valkeyclusters@my-app": all, "valkeynodes@my-app": read,
			},
		},
		"CatalogReader": {
			reason: "A reader of the catalog only browses it.",
			user:   "reader",
			want:   map[string][]string{"valkeyimages": read, "valkeyconfigs": read, "valkeyroles": read},
		},
		"Platform": {
			reason: "The platform team owns the catalog and reads nodes to find trouble.",
			user:   "platform",
			want: map[string][]string{
				"valkeyimages": all, "valkeyconfigs": all, "valkeyroles": all,
				"valkeynodes": read, "valkeynodes@my-app": read, "valkeynodes@their-app": read,
			},
		},
		"Provider": {
			reason: "The provider follows the catalog, definitions and nodes, writes what clusters are made of, and makes no cluster itself.",
			user:   "provider",
			want: map[string][]string{
				"valkeyimages": follow, "valkeyconfigs": follow, "valkeyroles": follow, "nodes": read, "customresourcedefinitions": follow,
				"valkeyclusters": slices.Concat(follow, []string{"update"}), "valkeyclusters@my-app": slices.Concat(follow, []string{"update"}),
				"valkeyclusters/status@my-app": {"update"}, "valkeyclusters@their-app": slices.Concat(follow, []string{"update"}),
				"valkeynodes": slices.Concat(read, write[:4]), "valkeynodes@my-app": slices.Concat(read, write[:4]),
				"valkeynodes/status@my-app": {"update", "patch"}, "valkeynodes@their-app": slices.Concat(read, write[:4]),
				"pods@my-app": slices.Concat(read, []string{"create", "patch", "delete"}), "pods/log@my-app": {"get"},
				"secrets@my-app": slices.Concat(read, []string{"create", "update", "patch"}), "services@my-app": slices.Concat(read, []string{"create", "update"}),
			},
		},
		"Stranger": {reason: "Who is bound to nothing may do nothing.", user: "stranger", want: map[string][]string{}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, may(t, as(t, tc.user))); diff != "" {
				t.Errorf("\n%s\nmay(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// may returns which verbs the user of a client has on which targets.
func may(t *testing.T, c client.Client) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, target := range targets {
		for _, verb := range all {
			target.Verb = verb
			r := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &target}}
			if err := c.Create(background, r); err != nil {
				t.Fatal(err)
			}
			if r.Status.Allowed {
				out[path(target)] = append(out[path(target)], verb)
			}
		}
	}
	return out
}

// TestTenancyRequests makes the requests that matter most, for a user to see
// what the API server answers.
func TestTenancyRequests(t *testing.T) {
	tenants(t)
	in := func(o client.Object, namespace string) client.Object {
		o.SetNamespace(namespace)
		return o
	}
	forbidden := func(user, resource, namespace string) []string {
		where := "at the cluster scope"
		if namespace != "" {
			where = `in the namespace "` + namespace + `"`
		}
		return []string{resource + `.valkey.gomomento.com is forbidden: User "` + user + `" cannot create resource "` + resource + `" in API group "valkey.gomomento.com" ` + where}
	}

	cases := map[string]struct {
		reason string
		user   string
		obj    client.Object
		want   []string
	}{
		"TeamCluster":         {"A team makes clusters in its namespace.", "team", in(cluster(), mine), nil},
		"TeamClusterOfOthers": {"A team makes no clusters elsewhere.", "team", in(cluster(), theirs), forbidden("team", "valkeyclusters", theirs)},
		"TeamNode":            {"A team makes no nodes.", "team", in(node(), mine), forbidden("team", "valkeynodes", mine)},
		"TeamImage":           {"A team permits no images.", "team", image(), forbidden("team", "valkeyimages", "")},
		"TeamConfig":          {"A team writes no menu.", "team", menu(), forbidden("team", "valkeyconfigs", "")},
		"TeamRole":            {"A team writes no roles.", "team", role(), forbidden("team", "valkeyroles", "")},
		"PlatformImage":       {"The platform permits images.", "platform", image(), nil},
		"PlatformConfig":      {"The platform writes the menu.", "platform", menu(), nil},
		"PlatformRole":        {"The platform writes roles.", "platform", role(), nil},
		"PlatformCluster":     {"The platform governs through the menu.", "platform", in(cluster(), mine), forbidden("platform", "valkeyclusters", mine)},
		"PlatformNode":        {"The platform makes no nodes.", "platform", in(node(), mine), forbidden("platform", "valkeynodes", mine)},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := causes(as(t, tc.user).Create(background, tc.obj, client.DryRunAll))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nCreate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
