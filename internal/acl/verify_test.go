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
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerify(t *testing.T) {
	const end = "user default reset off\nuser _momento_operator on\nuser _momento_repl on\n"
	cases := map[string]struct {
		reason string
		file   string
		want   string
	}{
		"Good":          {"All kinds of rules.", "user a reset on nopass #" + hashA + " resetchannels ~a %R~b %W~c &d +e -f +@g -@h +i|j (resetchannels ~k +l) (+m)\n" + end, ""},
		"NoEnd":         {"A last line without an end may be half a file.", "user default on", "the last line has no end"},
		"Empty":         {"An empty file is one empty line.", "\n", "line 1: it does not define a user"},
		"Comment":       {"A server refuses comments.", "# users\n" + end, "line 1: it does not define a user"},
		"BlankLine":     {"No line is empty.", "user a\n\n" + end, "line 2: it does not define a user"},
		"DoubleSpace":   {"An empty word makes a server read where it should not.", "user a  on\n" + end, `line 1: "" is not a word`},
		"Tab":           {"A tab would become part of a word.", "user a\ton\n" + end, `line 1: "a\ton" is not a word`},
		"Username":      {"A username has no other characters.", "user a.b on\n" + end, `line 1: "a.b" is not a username`},
		"Twice":         {"A server refuses a file with a user twice.", "user a on\nuser a on\n" + end, `line 2: user "a" is defined twice`},
		"Unclosed":      {"A server crashes on a selector without an end.", "user a (~b +get\n" + end, `line 1: the selector that begins with "(~b" is not closed`},
		"Early":         {"The rest of a selector that ends early is no rule.", "user a (~b) +get)\n" + end, `line 1: user "a": "+get)" is not a rule`},
		"BadHash":       {"A hash has 64 digits.", "user a #abc\n" + end, `line 1: user "a": "#abc" is not a rule`},
		"Password":      {"A file holds no password in clear.", "user a >secret\n" + end, `line 1: user "a": ">secret" is not a rule`},
		"AllKeys":       {"A server refuses a pattern after ~*.", "user a ~* %R~b\n" + end, `line 1: user "a": "%R~b" follows a rule that already grants all`},
		"AllChannels":   {"And one after &*.", "user a (&* &b)\n" + end, `line 1: user "a": selector "(&* &b)": "&b" follows a rule that already grants all`},
		"OnInSelector":  {"A selector has no user's rules.", "user a (on)\n" + end, `line 1: user "a": selector "(on)": "on" is not a rule`},
		"EmptySelector": {"A selector says something.", "user a ()\n" + end, `line 1: user "a": selector "()": "" is not a rule`},
		"NoDefault":     {"Without a default user a server is open.", "user _momento_operator on\nuser _momento_repl on\n", `there is no line for the user "default"`},
		"NotLast":       {"System users come last.", end + "user a on\n", `the users "_momento_operator" and "_momento_repl" are not the last ones`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Verify(tc.file); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("user default on\nuser _momento_operator on\nuser _momento_repl on\n")
	f.Add("user default (~a +get)\n")
	f.Add("user a ()\n\x00")
	f.Fuzz(func(t *testing.T, file string) {
		if Verify(file) == nil && len(readFile(t, file)) < 3 {
			t.Errorf("accepted %q", file)
		}
	})
}
