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

package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConf(t *testing.T) {
	cases := map[string]struct {
		reason   string
		settings map[string]string
		auth     string
		want     string
	}{
		"Empty":        {"Nothing gives nothing.", nil, "", ""},
		"Sorted":       {"The order never changes.", map[string]string{"b": "2", "a": "1"}, "", "a \"1\"\nb \"2\"\n"},
		"Auth":         {"The password is a directive in its place.", map[string]string{"port": "1", "a": "1"}, "pw", "a \"1\"\nport \"1\"\nprimaryauth \"pw\"\n"},
		"AuthWins":     {"The password is not the user's to set.", map[string]string{"primaryauth": "mine"}, "pw", "primaryauth \"pw\"\n"},
		"AuthGone":     {"Not even where there is none.", map[string]string{"primaryauth": "mine"}, "", ""},
		"EmptyValue":   {"An empty value is an argument.", map[string]string{"notify-keyspace-events": "", "save": ""}, "", "notify-keyspace-events \"\"\nsave \"\"\n"},
		"BlankSave":    {"Blanks alone are an empty value.", map[string]string{"save": " \t"}, "", "save \"\"\n"},
		"MultiArg":     {"The words of a directive with several are arguments of their own.", map[string]string{"save": "900 1\t300  10", "client-output-buffer-limit": "replica 256mb 64mb 60", "bind": "* -::*"}, "", "bind \"*\" \"-::*\"\nclient-output-buffer-limit \"replica\" \"256mb\" \"64mb\" \"60\"\nsave \"900\" \"1\" \"300\" \"10\"\n"},
		"SingleArg":    {"All others have one, blanks and all.", map[string]string{"availability-zone": "a b"}, "", "availability-zone \"a b\"\n"},
		"Quotes":       {"Quotes and backslashes are text.", map[string]string{"a": `x"y\z'`}, "", "a \"x\\\"y\\\\z'\"\n"},
		"Comment":      {"So is the sign of a comment.", map[string]string{"a": "#b"}, "", "a \"#b\"\n"},
		"LineBreak":    {"A line break begins no directive.", map[string]string{"a": "1\nport 7\r\nx"}, "", "a \"1\\x0aport 7\\x0d\\x0ax\"\n"},
		"MultiBreak":   {"Nor does one where words are split.", map[string]string{"save": "1\nport 7"}, "", "save \"1\" \"port\" \"7\"\n"},
		"ControlBytes": {"All but printable ASCII is escaped.", map[string]string{"a": "\x00\x01\x7f\u00e9"}, "", "a \"\\x00\\x01\\x7f\\xc3\\xa9\"\n"},
		"BadKey":       {"A name that Render would not admit is left out.", map[string]string{"a\nport": "7", "B": "1", "b": "2"}, "", "b \"2\"\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Conf(tc.settings, tc.auth)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// readConf reads a configuration file by a server's rules: lines are trimmed,
// comments and empty ones skipped, the rest split into arguments.
func readConf(t *testing.T, conf string) [][]string {
	t.Helper()
	var out [][]string
	for line := range strings.SplitSeq(conf, "\n") {
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		args, ok := splitArgs(line)
		if !ok {
			t.Fatalf("a server could not split the line %q", line)
		}
		out = append(out, args)
	}
	return out
}

// splitArgs splits a line into arguments the way a server does: blanks separate,
// double quotes have escapes, single quotes have one, and a closing quote must
// be followed by a blank or the end.
func splitArgs(line string) ([]string, bool) {
	line, _, _ = strings.Cut(line, "\x00")
	at := func(i int) byte {
		if i < len(line) {
			return line[i]
		}
		return 0
	}
	hex := func(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20) }
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
	escapes := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}
	blank := func(c byte) bool { return strings.IndexByte(" \t\n\v\f\r", c) >= 0 }
	var out []string
	for i := 0; ; {
		for i < len(line) && blank(line[i]) {
			i++
		}
		if i == len(line) {
			return out, true
		}
		var word []byte
		quote := byte(0)
		for done := false; !done; i++ {
			c := at(i)
			switch {
			case i >= len(line) && quote != 0:
				return nil, false
			case i >= len(line):
				done = true
			case quote == '"' && c == '\\' && at(i+1) == 'x' && isDigit(at(i+2)) && isDigit(at(i+3)):
				word = append(word, byte(hex(at(i+2))<<4|hex(at(i+3))))
				i += 3
			case quote == '"' && c == '\\' && i+1 < len(line):
				i++
				if e, ok := escapes[line[i]]; ok {
					word = append(word, e)
				} else {
					word = append(word, line[i])
				}
			case quote == '\'' && c == '\\' && at(i+1) == '\'':
				i++
				word = append(word, '\'')
			case quote != 0 && c == quote:
				if i+1 < len(line) && !blank(line[i+1]) {
					return nil, false
				}
				done = true
			case quote != 0:
				word = append(word, c)
			case strings.IndexByte(" \n\r\t", c) >= 0:
				done = true
			case c == '"' || c == '\'':
				quote = c
			default:
				word = append(word, c)
			}
		}
		out = append(out, string(word))
		i = min(i, len(line))
	}
}

func FuzzConf(f *testing.F) {
	for _, v := range []string{"", " ", "1gb", "a\nport 7", `"`, `'`, `\`, `\x41`, `x" port "7`, "#", "\x00", "\r", "a\vb\fc", "\u00e9\u2028", `""`, "900 1 300 10", "\"a b\"", "\xff"} {
		f.Add("maxmemory", v, "secret")
		f.Add("save", v, v)
	}
	f.Add("a\nport", "7", "x")
	f.Fuzz(func(t *testing.T, key, value, auth string) {
		got := readConf(t, Conf(map[string]string{key: value, "zz": "after"}, auth))
		var want [][]string
		if validKey.MatchString(key) && key != keyPrimaryAuth && key != "zz" {
			w := []string{value}
			if MultiArg(key) {
				w = strings.FieldsFunc(value, isBlank)
				if len(w) == 0 {
					w = []string{""}
				}
			}
			want = append(want, append([]string{key}, w...))
		}
		if auth != "" {
			want = append(want, []string{keyPrimaryAuth, auth})
		}
		if key != "zz" {
			want = append(want, []string{"zz", "after"})
		} else {
			got = slices.DeleteFunc(got, func(l []string) bool { return l[0] == "zz" })
		}
		slices.SortFunc(want, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a server reads something else: -want +got:\n%s", diff)
		}
	})
}
