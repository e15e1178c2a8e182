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

package valkeycluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

func TestACLChange(t *testing.T) {
	const a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	const b = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	user := func(name string, rules ...string) acl.User { return acl.User{Name: name, Rules: rules} }
	cases := map[string]struct {
		reason string
		want   []acl.User
		listed []string
		change valkey.ACLChange
	}{
		"New": {
			reason: "A user that the server does not have has no connections.",
			want:   []acl.User{user("app", "reset", "on", "#"+a)},
			listed: []string{"user default on nopass ~* &* +@all"},
			change: valkey.ACLChange{Set: []valkey.ACLSetting{{Name: "app", Rules: []string{"reset", "on", "#" + a}}}, Delete: []string{"default"}},
		},
		"Closed": {
			reason: "Whoever came in while the default user was open is out.",
			want:   []acl.User{user("default", "reset", "off")},
			listed: []string{"user default on nopass ~* &* +@all"},
			change: valkey.ACLChange{Set: []valkey.ACLSetting{{Name: "default", Rules: []string{"reset", "off"}, Disconnect: true}}},
		},
		"Replaced": {
			reason: "Whoever used the old password is out; of replicas only the next connection needs the new one.",
			want:   []acl.User{user("app", "reset", "on", "#"+b), user(acl.OperatorUser, "reset", "on", "#"+b), user(acl.ReplUser, "reset", "on", "#"+b)},
			listed: []string{"user app on #" + a, "user " + acl.OperatorUser + " on #" + a, "user " + acl.ReplUser + " on #" + a},
			change: valkey.ACLChange{Set: []valkey.ACLSetting{
				{Name: "app", Rules: []string{"reset", "on", "#" + b}, Disconnect: true},
				{Name: acl.OperatorUser, Rules: []string{"reset", "on", "#" + b}, Disconnect: true},
				{Name: acl.ReplUser, Rules: []string{"reset", "on", "#" + b}},
			}},
		},
		"Narrowed": {
			reason: "Who may do less stays connected.",
			want:   []acl.User{user("app", "reset", "on", "#"+a)},
			listed: []string{"user app on #" + a + " ~* resetchannels +@all"},
			change: valkey.ACLChange{Set: []valkey.ACLSetting{{Name: "app", Rules: []string{"reset", "on", "#" + a}}}},
		},
		"Strangers": {
			reason: "Users that somebody made by hand go.",
			want:   []acl.User{user("app", "reset", "on", "#"+a)},
			listed: []string{"user y on nopass", "user app on #" + a, "user x on #" + b},
			change: valkey.ACLChange{Set: []valkey.ACLSetting{{Name: "app", Rules: []string{"reset", "on", "#" + a}}}, Delete: []string{"x", "y"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.change, aclChange(tc.want, tc.listed)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOnlyThese(t *testing.T) {
	want := []acl.User{{Name: "default"}, {Name: "app"}}
	cases := map[string]struct {
		reason string
		listed []string
		want   bool
	}{
		"Same":       {reason: "What a server may do with the users is not looked at.", listed: []string{"user app on nopass", "user default off"}, want: true},
		"Stranger":   {reason: "A user was added since.", listed: []string{"user app on", "user default off", "user x on"}},
		"Unreadable": {reason: "A line that cannot be read may be a user.", listed: []string{"user app on", "who?"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := onlyThese(want, tc.listed); got != tc.want {
				t.Errorf("%s onlyThese(...): %t", tc.reason, got)
			}
		})
	}
}
