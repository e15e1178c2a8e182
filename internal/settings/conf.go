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
	"fmt"
	"maps"
	"slices"
	"strings"
)

// multiArg lists the directives that take several words. All others take
// exactly one, blanks included.
var multiArg = map[string]bool{
	"bind":                              true,
	"client-output-buffer-limit":        true,
	"latency-tracking-info-percentiles": true,
	"oom-score-adj-values":              true,
	"rdma-bind":                         true,
	"replicaof":                         true,
	"save":                              true,
	"shutdown-on-sigint":                true,
	"shutdown-on-sigterm":               true,
	"slaveof":                           true,
}

// MultiArg reports whether a directive takes several words.
func MultiArg(key string) bool { return multiArg[strings.ToLower(key)] }

// Conf writes valkey.conf: one directive a line, sorted, with primaryAuth as the
// replication password. Values are data. Every word is quoted, so that nothing
// in one can end a line, begin another word or be taken for a comment. Keys that
// Render would not admit are left out.
func Conf(settings map[string]string, primaryAuth string) string {
	all := maps.Clone(settings)
	if all == nil {
		all = map[string]string{}
	}
	delete(all, keyPrimaryAuth)
	if primaryAuth != "" {
		all[keyPrimaryAuth] = primaryAuth
	}
	b := &strings.Builder{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !validKey.MatchString(key) {
			continue
		}
		b.WriteString(key)
		for _, word := range words(key, all[key]) {
			b.WriteByte(' ')
			quote(b, word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// words cuts a value into the arguments of its directive, at least one: an empty
// value is an argument too, and the way to say "none".
func words(key, value string) []string {
	if !MultiArg(key) {
		return []string{value}
	}
	if w := strings.FieldsFunc(value, isBlank); len(w) > 0 {
		return w
	}
	return []string{""}
}

func isBlank(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) }

// quote writes a word in the double quotes that Valkey's parser reads, with all
// but printable ASCII as hexadecimal escapes.
func quote(b *strings.Builder, word string) {
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
