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

package valkey

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseACLUser(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     any
		want   ACLUser
		fails  bool
	}{
		"Selectors": {
			reason: "The user's own rules and its selectors are kept apart.",
			in: []any{
				"flags", []any{"on", "sanitize-payload"}, "passwords", []any{"ab"}, "commands", "-@all +get", "keys", "~app:*", "channels", "&ch:*",
				"selectors", []any{[]any{"commands", "-@all +set", "keys", "%W~wo:*", "channels", ""}},
			},
			want: ACLUser{
				Flags: []string{"on", "sanitize-payload"}, Passwords: []string{"ab"},
				ACLRules:  ACLRules{Commands: "-@all +get", Keys: "~app:*", Channels: "&ch:*"},
				Selectors: []ACLRules{{Commands: "-@all +set", Keys: "%W~wo:*"}},
			},
		},
		"Map": {
			reason: "RESP3 has a map, and 9.1 has databases.",
			in:     map[string]any{"flags": []any{"off"}, "passwords": []any{}, "commands": "-@all", "keys": "", "channels": "", "databases": "alldbs", "selectors": []any{}},
			want:   ACLUser{Flags: []string{"off"}, Passwords: []string{}, ACLRules: ACLRules{Commands: "-@all", Databases: "alldbs"}},
		},
		"NotAUser":    {reason: "A text is no user.", in: "OK", fails: true},
		"BadSelector": {reason: "A selector has names and values.", in: []any{"selectors", []any{"x"}}, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseACLUser(tc.in)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nParseACLUser(...): error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseACLUser(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzParseACLUser looks for replies that crash the parser.
func FuzzParseACLUser(f *testing.F) {
	f.Add("flags", "on\noff", "commands\n-@all\nkeys\n~x", true)
	f.Add("selectors", "x", "x", false)
	f.Add("passwords", "", "", true)
	f.Fuzz(func(t *testing.T, name, list, selector string, asMap bool) {
		var items, rules []any
		for s := range strings.SplitSeq(list, "\n") {
			items = append(items, s)
		}
		for s := range strings.SplitSeq(selector, "\n") {
			rules = append(rules, s)
		}
		var reply any = []any{name, items, "selectors", []any{rules, selector}}
		if asMap {
			reply = map[string]any{name: items, "selectors": []any{rules}, "keys": list}
		}
		u, err := ParseACLUser(reply)
		if err == nil && len(u.Selectors) == 0 {
			t.Errorf("the selector is lost: %+v", u)
		}
	})
}

// FuzzSecretsInErrors looks for a server's error in which a secret survives.
func FuzzSecretsInErrors(f *testing.F) {
	f.Add("ERR Error in ACL SETUSER modifier '#", "aabb", "': Syntax error")
	f.Add("", "x", "")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 8 || strings.Contains(before+"(secret)"+after, secret) {
			t.Skip("the secret is in the text by chance")
		}
		got := hideSecrets(before+secret+after, []string{secret})
		if strings.Contains(got, secret) || newServerError(got).Error() == "" {
			t.Errorf("got %q", got)
		}
	})
}
