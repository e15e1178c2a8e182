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

package acl

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

const (
	allow = v1alpha1.AccessAllow
	deny  = v1alpha1.AccessDeny
)

var (
	hashA = strings.Repeat("a", 64)
	hashB = strings.Repeat("b", 64)
)

var roles = map[string]v1alpha1.ValkeyRoleSpec{
	"none": {},
	"get":  {Commands: []v1alpha1.CommandRule{{Name: "get", Access: allow}}},
	"app": {
		Categories: []v1alpha1.CategoryRule{{Name: "read", Access: allow}, {Name: "dangerous", Access: deny}},
		Commands:   []v1alpha1.CommandRule{{Name: "set", Access: allow}, {Name: "config", Subcommand: "get", Access: allow}, {Name: "acl", Access: deny}, {Name: "client", Subcommand: "kill", Access: deny}},
	},
}

func rw(patterns ...string) []v1alpha1.KeyPattern {
	var out []v1alpha1.KeyPattern
	for _, p := range patterns {
		out = append(out, v1alpha1.KeyPattern{Pattern: p, Access: v1alpha1.AccessReadWrite})
	}
	return out
}

func binding(p ...v1alpha1.Permission) v1alpha1.ACLBinding {
	return v1alpha1.ACLBinding{Username: "u", PasswordHashes: []v1alpha1.PasswordHash{v1alpha1.PasswordHash(hashA)}, Permissions: p}
}

func perm(role string, keys []v1alpha1.KeyPattern, channels ...v1alpha1.ChannelPattern) v1alpha1.Permission {
	return v1alpha1.Permission{RoleRef: role, Keys: keys, Channels: channels}
}

func TestRender(t *testing.T) {
	base := []string{"reset", "on", "#" + hashA, "resetchannels"}
	cases := map[string]struct {
		reason  string
		binding v1alpha1.ACLBinding
		want    []string // after base
		err     error
	}{
		"Role": {
			reason:  "Categories come before commands, each in its order.",
			binding: binding(perm("app", nil)),
			want:    []string{"+@read", "-@dangerous", "+set", "+config|get", "-acl", "-client|kill"},
		},
		"Access": {
			reason: "Each access mode has its prefix, and none means both.",
			binding: binding(perm("get", []v1alpha1.KeyPattern{
				{Pattern: "a:*", Access: v1alpha1.AccessRead},
				{Pattern: "b:*", Access: v1alpha1.AccessWrite},
				{Pattern: "c:*", Access: v1alpha1.AccessReadWrite},
				{Pattern: "d:*"},
			}, "news", "n:*")),
			want: []string{"%R~a:*", "%W~b:*", "~c:*", "~d:*", "&news", "&n:*", "+get"},
		},
		"AllKeys": {
			reason:  "A server refuses patterns after ~* and &*, which they do not add to anyway.",
			binding: binding(perm("get", append(rw("a", "*", "b"), v1alpha1.KeyPattern{Pattern: "c", Access: v1alpha1.AccessRead}), "x", "*", "y")),
			want:    []string{"~*", "&*", "+get"},
		},
		"AllKeysRead": {
			reason:  "All keys for one access mode leave room for others.",
			binding: binding(perm("get", []v1alpha1.KeyPattern{{Pattern: "*", Access: v1alpha1.AccessRead}, {Pattern: "a", Access: v1alpha1.AccessWrite}})),
			want:    []string{"%R~*", "%W~a", "+get"},
		},
		"Selectors": {
			reason:  "Each permission after the first is a selector that stands alone, whatever acl-pubsub-default says.",
			binding: binding(perm("get", rw("a")), perm("app", rw("b"), "c"), perm("none", nil)),
			want:    []string{"~a", "+get", "(resetchannels ~b &c +@read -@dangerous +set +config|get -acl -client|kill)", "(resetchannels)"},
		},
		"SelectorAllKeys": {
			reason:  "Each selector is normalised on its own.",
			binding: binding(perm("get", rw("a")), perm("get", rw("b", "*"))),
			want:    []string{"~a", "+get", "(resetchannels ~* +get)"},
		},
		"RootParentheses": {
			reason:  "In the root rules a parenthesis is text.",
			binding: binding(perm("get", rw("a(b", "a)", "(", ")"), "(", ")")),
			want:    []string{"~a(b", "~a)", "~(", "~)", "&(", "&)", "+get"},
		},
		"SelectorKeyEnds": {
			reason:  "A key pattern that would close its selector is written in another way.",
			binding: binding(perm("none", nil), perm("get", rw("a)", `b\)`, "(c)", `d\\)`, "e[)]", "f[x)]*"))),
			want:    []string{`(resetchannels ~a[)] ~b[)] ~(c[)] ~d\\[)] ~e[)] ~f[x)]* +get)`},
		},
		"SelectorModeEnds": {
			reason:  "So it is for each access mode, and a tilde of the pattern stays where it is.",
			binding: binding(perm("none", nil), perm("get", []v1alpha1.KeyPattern{{Pattern: "a~b)", Access: v1alpha1.AccessRead}, {Pattern: ")", Access: v1alpha1.AccessWrite}})),
			want:    []string{"(resetchannels %R~a~b[)] %W~[)] +get)"},
		},
		"SelectorChannelEnds": {
			reason:  "A channel pattern is compared as text, so it stays as it is and comes last.",
			binding: binding(perm("none", nil), perm("get", rw("a"), "b)", "c", "b)")),
			want:    []string{"(resetchannels ~a &c +get &b))"},
		},
		"SelectorOpenClass": {
			reason:  "A class that is never closed cannot be rewritten and comes last too.",
			binding: binding(perm("none", nil), perm("get", rw("a[b)", "c"))),
			want:    []string{"(resetchannels ~c +get ~a[b))"},
		},
		"SelectorTwoChannelsEnd": {
			reason:  "Two of them have no place.",
			binding: binding(perm("none", nil), perm("get", rw("a"), "b)", "c)")),
			err:     &UnsafeError{Username: "u", What: "channel pattern", Text: "c)", Why: "only one pattern that ends in a closing parenthesis fits into a permission after the first; give it a permission of its own"},
		},
		"SelectorTwoKeysEnd": {
			reason:  "Nor have two such key patterns.",
			binding: binding(perm("none", nil), perm("get", []v1alpha1.KeyPattern{{Pattern: "[)"}, {Pattern: "x[)", Access: v1alpha1.AccessRead}})),
			err:     &UnsafeError{Username: "u", What: "key pattern", Text: "x[)", Why: "only one pattern that ends in a closing parenthesis fits into a permission after the first; give it a permission of its own"},
		},
		"RoleNotFound": {
			reason:  "A role must exist.",
			binding: binding(perm("none", nil), perm("gone", nil)),
			err:     &RoleNotFoundError{Role: "gone", Username: "u"},
		},
		"ReservedName": {
			reason:  "A system user is nobody's to define.",
			binding: v1alpha1.ACLBinding{Username: OperatorUser},
			err:     &UnsafeError{Username: OperatorUser, What: "username", Text: OperatorUser, Why: "the prefix _momento_ is reserved for system users"},
		},
		"Username": {
			reason:  "A name with a blank would begin rules.",
			binding: v1alpha1.ACLBinding{Username: "a on"},
			err:     &UnsafeError{Username: "a on", What: "username", Text: "a on", Why: "it must consist of letters, digits, hyphens and underscores"},
		},
		"Hash": {
			reason:  "What is no digest could be another rule.",
			binding: v1alpha1.ACLBinding{Username: "u", PasswordHashes: []v1alpha1.PasswordHash{"abc"}},
			err:     &UnsafeError{Username: "u", What: "password hash", Text: "abc", Why: "it must be a SHA-256 digest of 64 lowercase hexadecimal characters"},
		},
		"KeyBlank": {
			reason:  "A blank in a pattern would begin another rule.",
			binding: binding(perm("get", rw("a +@all"))),
			err:     &UnsafeError{Username: "u", What: "key pattern", Text: "a +@all", Why: "control characters, spaces and quotes are not allowed"},
		},
		"ChannelLineBreak": {
			reason:  "A line break would begin another user.",
			binding: binding(perm("get", nil, "a\nuser x on nopass")),
			err:     &UnsafeError{Username: "u", What: "channel pattern", Text: "a\nuser x on nopass", Why: "control characters, spaces and quotes are not allowed"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Render([]v1alpha1.ACLBinding{tc.binding}, roles)
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("%s: error: -want +got:\n%s", tc.reason, diff)
			}
			if tc.err != nil {
				return
			}
			want := []User{{Name: "u", Rules: append(append([]string{}, base...), tc.want...)}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if _, err := File(got, System{}, ""); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

func TestRenderBadRole(t *testing.T) {
	for _, role := range []v1alpha1.ValkeyRoleSpec{
		{Categories: []v1alpha1.CategoryRule{{Name: "read ~*", Access: allow}}},
		{Commands: []v1alpha1.CommandRule{{Name: "@all", Subcommand: "x", Access: allow}}},
		{Commands: []v1alpha1.CommandRule{{Name: "get)", Access: allow}}},
		{Commands: []v1alpha1.CommandRule{{Name: "get", Subcommand: "a|b", Access: allow}}},
		{Commands: []v1alpha1.CommandRule{{Name: "", Access: allow}}},
	} {
		_, err := Render([]v1alpha1.ACLBinding{binding(perm("bad", nil))}, map[string]v1alpha1.ValkeyRoleSpec{"bad": role})
		var unsafe *UnsafeError
		if !errors.As(err, &unsafe) {
			t.Errorf("role %v: got error %v", role, err)
		}
	}
}

func TestMessages(t *testing.T) {
	cases := map[string]struct {
		err  error
		want string
	}{
		"Role":   {&RoleNotFoundError{Role: "r", Username: "u"}, `ValkeyRole "r" not found (referenced by user "u")`},
		"Unsafe": {&UnsafeError{Username: "u", What: "key pattern", Text: "a b", Why: "no"}, `key pattern "a b" of user "u" cannot be used: no`},
		"Size":   {&SizeError{Size: 2000000}, "the ACL file would have 2000000 bytes and at most 1048576 fit into a Secret: use fewer or shorter ACL bindings"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
