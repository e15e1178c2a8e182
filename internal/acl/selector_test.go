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
)

// matches matches a key with a glob the way a server does.
func matches(p, key string) bool {
	for p != "" && key != "" {
		switch {
		case p[0] == '*':
			p = strings.TrimLeft(p, "*")
			for i := 0; i <= len(key); i++ {
				if p == "" || i < len(key) && matches(p, key[i:]) {
					return true
				}
			}
			return false
		case p[0] == '?':
			p = p[1:]
		case p[0] == '[':
			var in bool
			if p, in = inClass(p[1:], key[0]); !in {
				return false
			}
		case p[0] == '\\' && len(p) > 1:
			p = p[1:]
			fallthrough
		default:
			if p[0] != key[0] {
				return false
			}
			p = p[1:]
		}
		key = key[1:]
		if key == "" {
			p = strings.TrimLeft(p, "*")
		}
	}
	return p == "" && key == ""
}

// inClass reads a class and tells what follows it and whether a byte is in it.
func inClass(p string, c byte) (rest string, in bool) {
	p, not := strings.CutPrefix(p, "^")
	for p != "" {
		switch {
		case p[0] == '\\' && len(p) >= 2:
			in = in || p[1] == c
			p = p[2:]
		case p[0] == ']':
			return p[1:], in != not
		case len(p) >= 3 && p[1] == '-':
			in = in || min(p[0], p[2]) <= c && c <= max(p[0], p[2])
			p = p[3:]
		default:
			in = in || p[0] == c
			p = p[1:]
		}
	}
	return "", in != not
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, key string
		want         bool
	}{
		{"a*", "a", true},
		{"a*c", "abbc", true},
		{"a?c", "ac", false},
		{"[a-c]x", "bx", true},
		{"[^a]", "a", false},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{"[)", ")", true},
		{"a)", "a)", true},
	} {
		if got := matches(tc.pattern, tc.key); got != tc.want {
			t.Errorf("matches(%q, %q) is %t", tc.pattern, tc.key, got)
		}
	}
}

// FuzzOpenEnd checks that a rewritten pattern matches the same keys and no
// longer ends in a parenthesis where that is possible.
func FuzzOpenEnd(f *testing.F) {
	for _, p := range []string{")", `\)`, `\\)`, "a*)", "[)", "[)]", "[^)", "[a-)", "[a-b])", `[\])`, "[]", "[])", "()", "*[)]*)"} {
		f.Add(p, ")")
		f.Add(p, "a)")
		f.Add(p, `\)`)
	}
	f.Fuzz(func(t *testing.T, pattern, key string) {
		if len(pattern) > 40 || len(key) > 40 {
			t.Skip("the matcher takes exponential time")
		}
		rule := openEnd("~" + pattern)
		got, ok := strings.CutPrefix(rule, "~")
		if !ok {
			t.Fatalf("%q became %q", pattern, rule)
		}
		// A key that the pattern is made for finds more than a random one.
		for _, k := range []string{key, key + ")", pattern, strings.ReplaceAll(pattern, `\`, "")} {
			if len(k) <= 80 && matches(pattern, k) != matches(got, k) {
				t.Errorf("%q and %q differ for the key %q", pattern, got, k)
			}
		}
		if strings.HasSuffix(got, ")") && !strings.Contains(got, "[") {
			t.Errorf("%q became %q", pattern, got)
		}
	})
}
