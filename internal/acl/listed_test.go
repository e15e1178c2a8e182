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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListed(t *testing.T) {
	cases := map[string]struct {
		reason string
		line   string
		want   Listed
	}{
		"Open":      {"The default user of a new server.", "user default on nopass ~* &* +@all", Listed{Name: "default", On: true, NoPass: true}},
		"Off":       {"A user that is switched off.", "user default off resetchannels -@all", Listed{Name: "default"}},
		"Passwords": {"Valkey 8 also tells how payloads are treated.", "user app on sanitize-payload #" + hashA + " #" + hashB + " ~a resetchannels -@all", Listed{Name: "app", On: true, Hashes: []string{hashA, hashB}}},
		"Selector":  {"What is in a selector is not about passwords.", "user app on #" + hashA + " resetchannels -@all (~on resetchannels -@all +get) (~x nopass)", Listed{Name: "app", On: true, Hashes: []string{hashA}}},
		"Pattern":   {"A pattern is not a password.", "user app on ~#" + hashA + " resetchannels -@all", Listed{Name: "app", On: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseListed(tc.line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseListedRefuses(t *testing.T) {
	for name, line := range map[string]string{"Empty": "", "Comment": "# x", "NoName": "user", "BlankName": "user  on"} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseListed(line); err == nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestExcludes(t *testing.T) {
	user := func(rules string) User { return User{Name: "u", Rules: strings.Fields(rules)} }
	cases := map[string]struct {
		reason string
		have   Listed
		want   User
		out    bool
	}{
		"Same":     {"Nothing changes.", Listed{On: true, Hashes: []string{hashA}}, user("reset on #" + hashA), false},
		"Added":    {"A second password keeps the first.", Listed{On: true, Hashes: []string{hashA}}, user("reset on #" + hashA + " #" + hashB), false},
		"Removed":  {"Whoever used the removed password is out.", Listed{On: true, Hashes: []string{hashA, hashB}}, user("reset on #" + hashB), true},
		"Replaced": {"As is whoever used the replaced one.", Listed{On: true, Hashes: []string{hashA}}, user("reset on #" + hashB), true},
		"Closed":   {"Who came in without a password needs one now.", Listed{On: true, NoPass: true}, user("reset on #" + hashB), true},
		"Off":      {"A user that is switched off is out.", Listed{On: true, NoPass: true}, user("reset off resetchannels"), true},
		"Opened":   {"Who had a password may go on without one.", Listed{On: true, Hashes: []string{hashA}}, user("reset on nopass"), false},
		"WasOff":   {"Nobody can be logged in.", Listed{Hashes: []string{hashA}}, user("reset on #" + hashB), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.have.Excludes(tc.want); got != tc.out {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// FuzzParseListed looks for lines that crash the parser, or of which it reads
// something that is not there.
func FuzzParseListed(f *testing.F) {
	for _, l := range []string{"", "user", "user a", "user a on", "user a on nopass ~* &* +@all", "user a off #" + hashA + " (~x +get)", "user a on sanitize-payload #" + hashB, "user a #(", "user ( on"} {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, line string) {
		u, err := ParseListed(line)
		if err != nil {
			return
		}
		if u.Name == "" || !strings.HasPrefix(line, "user "+u.Name) {
			t.Errorf("read the name %q", u.Name)
		}
		for _, h := range u.Hashes {
			if !validHash.MatchString(h) || !strings.Contains(line, " #"+h) {
				t.Errorf("read the password %q", h)
			}
		}
	})
}
