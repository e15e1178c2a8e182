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
	"slices"
	"strings"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// selector renders a permission as a parenthesised selector.
//
// A server joins the words of a selector up to the first one that ends in a
// closing parenthesis. A pattern that itself ends in one would close the
// selector too early, unless it is the last word: then its own parenthesis is
// followed by the selector's. A key pattern can nearly always be written in
// another way that matches the same keys. A channel pattern cannot: a pattern
// subscription is compared with it as text.
func selector(username string, p v1alpha1.Permission, cmds []string) (string, error) {
	var last []string
	words := []string{"resetchannels"}
	for _, rule := range slices.Concat(keys(p.Keys), channels(p.Channels)) {
		if rule[0] != '&' {
			rule = openEnd(rule)
		}
		switch {
		case !strings.HasSuffix(rule, ")"):
			words = append(words, rule)
		case !slices.Contains(last, rule):
			last = append(last, rule)
		}
	}
	if len(last) > 1 {
		what, text := patternOf(last[1])
		return "", &UnsafeError{Username: username, What: what, Text: text, Why: "only one pattern that ends in a closing parenthesis fits into a permission after the first; give it a permission of its own"}
	}
	words = slices.Concat(words, cmds, last)
	return "(" + strings.Join(words, " ") + ")", nil
}

// patternOf takes a rule apart into what its pattern is for and the pattern.
func patternOf(rule string) (what, pattern string) {
	if pattern, ok := strings.CutPrefix(rule, "&"); ok {
		return "channel pattern", pattern
	}
	_, pattern, _ = strings.Cut(rule, "~")
	return "key pattern", pattern
}

// openEnd rewrites a key pattern that ends in a closing parenthesis to one that
// ends in a class of just this character. It leaves alone what it cannot
// rewrite: a parenthesis within a class that is never closed.
func openEnd(rule string) string {
	if !strings.HasSuffix(rule, ")") {
		return rule
	}
	prefix, pattern, _ := strings.Cut(rule, "~")
	start := 0
	for i := 0; i < len(pattern); {
		start = i
		i = nextGlobToken(pattern, i)
	}
	switch pattern[start:] {
	case ")", `\)`:
		return prefix + "~" + pattern[:start] + "[)]"
	}
	return rule
}

// nextGlobToken returns where the token of a glob that begins at i ends, by the
// rules of a server's matcher.
func nextGlobToken(p string, i int) int {
	switch {
	case p[i] == '\\' && i+1 < len(p):
		return i + 2
	case p[i] != '[':
		return i + 1
	}
	i++
	if i < len(p) && p[i] == '^' {
		i++
	}
	for i < len(p) {
		switch {
		case p[i] == '\\' && len(p)-i >= 2:
			i += 2
		case p[i] == ']':
			return i + 1
		case len(p)-i >= 3 && p[i+1] == '-':
			i += 3
		default:
			i++
		}
	}
	return i
}
