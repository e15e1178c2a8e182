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
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

var system = System{OperatorHashes: []string{hashA, hashB}, ReplHashes: []string{hashB}}

// systemLines are the ends of all files for servers before 9.0.
var systemLines = "user _momento_operator reset on #" + hashA + " #" + hashB + " resetchannels ~*" +
	" +ping +info +role +wait +dbsize +multi +exec" +
	" +acl|list +acl|users +acl|getuser +acl|dryrun +acl|whoami +acl|setuser +acl|deluser" +
	" +config|get +config|set +client|setinfo +client|list +client|kill" +
	" +cluster|info +cluster|nodes +cluster|slots +cluster|shards +cluster|links +cluster|myid" +
	" +cluster|meet +cluster|forget +cluster|replicate +cluster|failover" +
	" +cluster|addslots +cluster|addslotsrange +cluster|setslot" +
	" +cluster|set-config-epoch +cluster|bumpepoch +cluster|saveconfig" +
	" +cluster|countkeysinslot +cluster|getkeysinslot +cluster|slot-stats +cluster|count-failure-reports" +
	" +function|dump +function|restore +migrate\n" +
	"user _momento_repl reset on #" + hashB + " resetchannels ~* +psync +replconf +ping +sync +select +restore-asking\n"

func TestFile(t *testing.T) {
	lines9 := strings.NewReplacer(
		"+migrate\n", "+migrate +cluster|migrateslots +cluster|getslotmigrations +cluster|cancelslotmigrations\n",
		"+restore-asking\n", "+restore-asking +cluster|syncslots +@write\n",
	).Replace(systemLines)
	user := func(name string) User { return User{Name: name, Rules: []string{"reset", "on", "~*", "+@all"}} }
	cases := map[string]struct {
		reason  string
		users   []User
		version string
		want    string
	}{
		"Open":       {"Without users everybody may do everything.", nil, "8.0.1", "user default reset on nopass ~* &* +@all\n" + systemLines},
		"Closed":     {"With a user the default one is off.", []User{user("a")}, "8.1.1", "user a reset on ~* +@all\nuser default reset off resetchannels\n" + systemLines},
		"Default":    {"A binding may define the default user.", []User{user("default")}, "8.1.1", "user default reset on ~* +@all\n" + systemLines},
		"Sorted":     {"The order of bindings means nothing.", []User{user("b"), user("a")}, "", "user a reset on ~* +@all\nuser b reset on ~* +@all\nuser default reset off resetchannels\n" + systemLines},
		"Nine":       {"Valkey 9 has atomic migration.", nil, "9.0.1", "user default reset on nopass ~* &* +@all\n" + lines9},
		"NineShort":  {"A version may be short.", nil, "9", "user default reset on nopass ~* &* +@all\n" + lines9},
		"NineSuffix": {"Or have more to it.", nil, "v9-alpine", "user default reset on nopass ~* &* +@all\n" + lines9},
		"Later":      {"Later ones have it too.", nil, "10.0", "user default reset on nopass ~* &* +@all\n" + lines9},
		"Unreadable": {"What cannot be read gets what every server understands.", nil, "latest", "user default reset on nopass ~* &* +@all\n" + systemLines},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := File(tc.users, system, tc.version)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFileRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		users  []User
	}{
		"Twice":     {"A user is defined once.", []User{{Name: "a"}, {Name: "a"}}},
		"System":    {"A system user cannot be defined before it is.", []User{{Name: ReplUser}}},
		"Open":      {"A selector that is not closed crashes a server.", []User{{Name: "a", Rules: []string{"(+get"}}}},
		"Blank":     {"A rule with a blank is two.", []User{{Name: "a", Rules: []string{"~a +@all"}}}},
		"LineBreak": {"A rule with a line break is another user.", []User{{Name: "a", Rules: []string{"~a\nuser b on nopass"}}}},
		"Early":     {"A selector that closes early leaves its rest to the user itself.", []User{{Name: "a", Rules: []string{"(~a) ~b)"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := File(tc.users, System{}, ""); err == nil {
				t.Errorf("%s: got %q", tc.reason, got)
			}
		})
	}
}

func TestFileSize(t *testing.T) {
	var many []User
	for i := range 200 {
		many = append(many, User{Name: fmt.Sprintf("u%d", i), Rules: []string{"~" + strings.Repeat("x", 6000)}})
	}
	_, err := File(many, System{}, "")
	var e *SizeError
	if !errors.As(err, &e) || e.Size <= MaxFileSize {
		t.Errorf("got error %v", err)
	}
}

func TestFingerprint(t *testing.T) {
	a, b := Fingerprint("user a"), Fingerprint("user b")
	if a == b || len(a) != 32 || a != Fingerprint("user a") {
		t.Errorf("got %q and %q", a, b)
	}
}

// readFile reads a file by the words of a server's own reader: split at every
// space, joined from a word that opens a parenthesis without closing it to the
// next that closes one.
func readFile(t *testing.T, file string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(file, "\n"), "\n") {
		words := strings.Split(strings.Trim(line, " \t\r\n"), " ")
		if len(words) < 2 || words[0] != "user" || out[words[1]] != nil {
			t.Fatalf("a server refuses the line %q", line)
		}
		rules := []string{}
		open := ""
		for _, w := range words[2:] {
			switch {
			case w == "":
				t.Fatalf("a server reads before the start of an empty word in %q", line)
			case open != "" && w[len(w)-1] == ')':
				rules, open = append(rules, open+" "+w), ""
			case open != "":
				open += " " + w
			case w[0] == '(' && w[len(w)-1] != ')':
				open = w
			default:
				rules = append(rules, w)
			}
		}
		if open != "" {
			t.Fatalf("a server crashes on the line %q", line)
		}
		out[words[1]] = rules
	}
	return out
}

// admitted is what the API's schema lets through.
var admitted = regexp.MustCompile(`^[^\x00-\x20\x7f"']*$`)

func FuzzACLFile(f *testing.F) {
	for _, p := range []string{"", "*", "a", "(", ")", "a(b", "a)", "()", `\)`, "[)", "#x", ">x", "~x", "%R~x", "+@all", "-@all", "user", "on", "nopass", "\u00e9)", "(resetchannels", "\u2028", "\u00a0"} {
		f.Add(p, p, "b)")
		f.Add("a", ")", p)
		f.Add(p, "*", "*")
	}
	f.Fuzz(func(t *testing.T, k1, k2, ch string) {
		for _, p := range []string{k1, k2, ch} {
			if !admitted.MatchString(p) {
				t.Skip("the schema refuses it")
			}
		}
		one := []v1alpha1.KeyPattern{{Pattern: k1}, {Pattern: k2, Access: v1alpha1.AccessRead}}
		p := perm("app", one, v1alpha1.ChannelPattern(ch))
		b := binding(p, p, perm("none", rw(k2, k1)))
		users, err := Render([]v1alpha1.ACLBinding{b}, roles)
		var unsafe *UnsafeError
		if errors.As(err, &unsafe) {
			if !strings.HasSuffix(unsafe.Text, ")") {
				t.Errorf("%v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		file, err := File(users, system, "9.1")
		if err != nil {
			t.Fatal(err)
		}
		got := readFile(t, file)
		if len(got) != 4 {
			t.Errorf("%d users instead of 4", len(got))
		}
		if diff := cmp.Diff(users[0].Rules, got["u"]); diff != "" {
			t.Errorf("a server reads other rules: -want +got:\n%s", diff)
		}
		selectors := 0
		for _, r := range got["u"] {
			if r[0] == '(' {
				selectors++
			}
		}
		if selectors != 2 {
			t.Errorf("%d selectors instead of 2", selectors)
		}
		if !strings.HasSuffix(file, "+@write\n") || !strings.Contains(file, "\nuser "+OperatorUser+" reset on #") {
			t.Errorf("the system users are not the last ones:\n%s", file)
		}
	})
}
