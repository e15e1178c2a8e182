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
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

func TestCatalog(t *testing.T) {
	pattern := func(field, value string) []string {
		return []string{fmt.Sprintf("%[1]s: Invalid value: %[2]q: %[1]s in body should match '^[a-zA-Z][a-zA-Z0-9_-]*$'", field, value)}
	}
	unknown := func(kind, field string) []string {
		return []string{fmt.Sprintf(`%[1]s in version "v1alpha1" cannot be handled as a %[1]s: strict decoding error: unknown field %[2]q`, kind, field)}
	}
	category := func(changes ...object) *unstructured.Unstructured {
		return role(object{"categories": list{with(object{"name": "read", "access": "allow"}, changes...)}})
	}
	command := func(changes ...object) *unstructured.Unstructured {
		return role(object{"commands": list{with(object{"name": "get", "access": "allow"}, changes...)}})
	}
	rules := func(n int) list { return times(n, object{"name": "get", "access": "deny"}) }
	access := `Unsupported value: "maybe": supported values: "allow", "deny"`

	cases := map[string]struct {
		reason string
		obj    *unstructured.Unstructured
		want   []string
	}{
		"Image":                  {"An image with all fields is fine.", image(), nil},
		"ImageWithoutRepository": {"An image has a repository.", image(object{"repository": nil}), []string{"spec.repository: Required value"}},
		"ImageWithoutTag":        {"An image has a tag.", image(object{"tag": nil}), []string{"spec.tag: Required value"}},
		"ImageWithoutVersion":    {"An image has a version.", image(object{"version": nil}), []string{"spec.version: Required value"}},
		"ImageNumberVersion":     {"A version is text.", image(object{"version": int64(9)}), []string{`spec.version: Invalid value: "integer": spec.version in body must be of type string: "integer"`}},
		"ImageUnknownField":      {"A typing error is not lost.", image(object{"digest": "a"}), unknown("ValkeyImage", "spec.digest")},
		"ImageNameWithDots":      {"A catalog name may have dots.", named(image(), "valkey-9.0.1"), nil},

		"Config":             {"Nothing of a config is required.", menu(), nil},
		"ConfigEverything":   {"A config with all fields is fine.", menu(object{"imageRef": "valkey-9-0", "baseRef": "base", "resources": object{"cpu": "1", "memory": "2Gi"}, "valkey": object{"maxmemory": "1500mb"}, "acl": users(1)}), nil},
		"ConfigOnlyCPU":      {"Each resource stands for itself.", menu(object{"resources": object{"cpu": "500m"}}), nil},
		"ConfigOnlyMemory":   {"Each resource stands for itself.", menu(object{"resources": object{"memory": "2Gi"}}), nil},
		"ConfigNoResources":  {"No resource is required.", menu(object{"resources": object{}}), nil},
		"ConfigItself":       {"References are not checked at admission.", menu(object{"baseRef": "standard"}), nil},
		"ConfigNumber":       {"Settings are text.", menu(object{"valkey": object{"maxclients": int64(100)}}), []string{`spec.valkey.maxclients: Invalid value: "integer": spec.valkey.maxclients in body must be of type string: "integer"`}},
		"ConfigManySettings": {"No limit is set on settings.", menu(object{"valkey": annotations(5000)}), nil},
		"ConfigUnknownField": {"A typing error is not lost.", menu(object{"image": "a"}), unknown("ValkeyConfig", "spec.image")},

		"Role":                 {"Nothing of a role is required.", role(), nil},
		"RoleCategory":         {"A category is allowed.", category(), nil},
		"RoleCategoryDenied":   {"A category is denied.", category(object{"access": "deny"}), nil},
		"RoleCategoryNameless": {"A category has a name.", category(object{"name": nil}), []string{"spec.categories[0].name: Required value"}},
		"RoleCategoryAccess":   {"A category is allowed or denied.", category(object{"access": nil}), []string{"spec.categories[0].access: Required value"}},
		"RoleCategoryMaybe":    {"A category is allowed or denied.", category(object{"access": "maybe"}), []string{"spec.categories[0].access: " + access}},
		"RoleCategoryLongest":  {"64 characters are the most.", category(object{"name": strings.Repeat("a", 64)}), nil},
		"RoleCategoryTooLong":  {"65 characters are too many.", category(object{"name": strings.Repeat("a", 65)}), []string{"spec.categories[0].name: Too long: may not be more than 64 bytes"}},
		"RoleCategoryEmpty":    {"A name is not empty.", category(object{"name": ""}), pattern("spec.categories[0].name", "")},
		"RoleCategoryPrefix":   {"The @ prefix is the provider's to add.", category(object{"name": "@read"}), pattern("spec.categories[0].name", "@read")},
		"RoleCategoryDigit":    {"A name starts with a letter.", category(object{"name": "1a"}), pattern("spec.categories[0].name", "1a")},
		"RoleCategoryAll":      {"All that a name may contain.", category(object{"name": "aZ-_9"}), nil},
		"RoleMostCategories":   {"64 categories are the most.", role(object{"categories": rules(64)}), nil},
		"RoleManyCategories":   {"65 categories are too many.", role(object{"categories": rules(65)}), []string{"spec.categories: Too many: 65: must have at most 64 items"}},
		"RoleCommand":          {"A command is allowed.", command(), nil},
		"RoleCommandDenied":    {"A command is denied.", command(object{"access": "deny"}), nil},
		"RoleCommandNameless":  {"A command has a name.", command(object{"name": nil}), []string{"spec.commands[0].name: Required value"}},
		"RoleCommandAccess":    {"A command is allowed or denied.", command(object{"access": nil}), []string{"spec.commands[0].access: Required value"}},
		"RoleCommandMaybe":     {"A command is allowed or denied.", command(object{"access": "maybe"}), []string{"spec.commands[0].access: " + access}},
		"RoleCommandLongest":   {"64 characters are the most.", command(object{"name": strings.Repeat("a", 64)}), nil},
		"RoleCommandTooLong":   {"65 characters are too many.", command(object{"name": strings.Repeat("a", 65)}), []string{"spec.commands[0].name: Too long: may not be more than 64 bytes"}},
		"RoleCommandPipe":      {"A subcommand has a field of its own.", command(object{"name": "client|list"}), pattern("spec.commands[0].name", "client|list")},
		"RoleCommandSpace":     {"A name cannot bring a second rule.", command(object{"name": "get +@all"}), pattern("spec.commands[0].name", "get +@all")},
		"RoleCommandNewline":   {"A name cannot end its line in the ACL file.", command(object{"name": "get\n"}), pattern("spec.commands[0].name", "get\n")},
		"RoleSubcommand":       {"A rule may be for a subcommand.", command(object{"subcommand": "list"}), nil},
		"RoleSubLongest":       {"64 characters are the most.", command(object{"subcommand": strings.Repeat("a", 64)}), nil},
		"RoleSubTooLong":       {"65 characters are too many.", command(object{"subcommand": strings.Repeat("a", 65)}), []string{"spec.commands[0].subcommand: Too long: may not be more than 64 bytes"}},
		"RoleSubEmpty":         {"A subcommand is left out, not empty.", command(object{"subcommand": ""}), pattern("spec.commands[0].subcommand", "")},
		"RoleSubSpace":         {"A subcommand cannot bring a second rule.", command(object{"subcommand": "a b"}), pattern("spec.commands[0].subcommand", "a b")},
		"RoleMostCommands":     {"256 commands are the most.", role(object{"commands": rules(256)}), nil},
		"RoleManyCommands":     {"257 commands are too many.", role(object{"commands": rules(257)}), []string{"spec.commands: Too many: 257: must have at most 256 items"}},
		"RoleUnknownField":     {"A role has no keys.", role(object{"keys": list{}}), unknown("ValkeyRole", "spec.keys")},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, got := create(tc.obj)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\ncreate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConfigRoundTrip(t *testing.T) {
	cases := map[string]struct {
		reason string
		acl    *[]v1alpha1.ACLBinding
	}{
		"Unset": {"A list that is not set is left to the base.", nil},
		"Empty": {"An empty list is set: it replaces the base's users by none.", &[]v1alpha1.ACLBinding{}},
		"Users": {"A list of users is set.", &[]v1alpha1.ACLBinding{{
			Username:       "app",
			PasswordHashes: []v1alpha1.PasswordHash{hash},
			Permissions: []v1alpha1.Permission{{
				RoleRef:  "cache",
				Keys:     []v1alpha1.KeyPattern{{Pattern: "a", Access: v1alpha1.AccessRead}},
				Channels: []v1alpha1.ChannelPattern{"c"},
			}},
		}}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.ValkeyConfig{ObjectMeta: metav1.ObjectMeta{Name: "round-trip"}, Spec: v1alpha1.ValkeyConfigSpec{ACL: tc.acl}}
			store(t, c)
			got := &v1alpha1.ValkeyConfig{}
			if err := kube.Get(background, client.ObjectKeyFromObject(c), got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.acl, got.Spec.ACL); diff != "" {
				t.Errorf("\n%s\nspec.acl: -want, +got:\n%s", tc.reason, diff)
			}
			// What a user reads and applies again means the same.
			got.Annotations = map[string]string{"touched": "yes"}
			if err := kube.Update(background, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.acl, got.Spec.ACL); diff != "" {
				t.Errorf("\n%s\nspec.acl after an update: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
