//go:build api

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

package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The rules of ACL bindings, as users read them.
const (
	ruleDuplicate   = `Invalid value: duplicate username in ACL bindings`
	ruleUsername    = `username must not be empty and may contain only letters, digits, hyphens and underscores`
	ruleReserved    = `username must not start with _momento_, which is reserved for system users`
	ruleHash        = `a password hash must be exactly 64 lowercase hexadecimal characters, the SHA-256 of the password`
	rulePermissions = `Invalid value: permissions must have at least one entry`
	rulePattern     = `a key pattern must not contain control characters, spaces or quotes`
	ruleChannel     = `a channel pattern must not contain control characters, spaces or quotes`
)

// users returns n bindings with a name each.
func users(n int) list {
	return each(n, func(i int) any { return binding(object{"username": fmt.Sprintf("user-%d", i)}) })
}

func TestACL(t *testing.T) {
	first := "spec.acl[0]."
	grant := first + "permissions[0]."
	invalid := func(field string, value any, rule string) []string {
		return []string{fmt.Sprintf("%s: Invalid value: %q: %s", field, value, rule)}
	}
	limit := func(field, text string) []string { return []string{field + ": " + text} }
	one := func(changes object) list { return list{binding(changes)} }
	may := func(changes object) list { return one(object{"permissions": list{permission(changes)}}) }
	pattern := func(p string) list { return may(object{"keys": list{key(p)}}) }
	channel := func(c string) list { return may(object{"channels": list{c}}) }
	hashes := func(h ...any) list { return one(object{"passwordHashes": append(list{}, h...)}) }
	username := func(n string) list { return one(object{"username": n}) }
	long := strings.Repeat

	cases := map[string]struct {
		reason string
		acl    list
		want   []string
	}{
		"Smallest":           {"A binding with only what is required is fine.", one(nil), nil},
		"None":               {"An empty list is fine.", list{}, nil},
		"MostBindings":       {"64 bindings are the most.", users(64), nil},
		"TooManyBindings":    {"65 bindings are too many.", users(65), limit("spec.acl", "Too many: 65: must have at most 64 items")},
		"DuplicateUsername":  {"A username is used once.", list{binding(), binding()}, limit("spec.acl", ruleDuplicate)},
		"DuplicateFarApart":  {"A username is used once, also far apart.", append(users(63), users(1)...), limit("spec.acl", ruleDuplicate)},
		"UsernamesDifferIn":  {"Usernames differ by case.", list{binding(), binding(object{"username": "APP"})}, nil},
		"NoUsername":         {"A username is required.", one(object{"username": nil}), limit(first+"username", "Required value")},
		"EmptyUsername":      {"A username must not be empty.", username(""), invalid(first+"username", "", ruleUsername)},
		"AllOfUsername":      {"All that a username may contain.", username("aZ09-_"), nil},
		"UsernameDefault":    {"The user default is a user like any other.", username("default"), nil},
		"UsernameDot":        {"A username has no dot.", username("a.b"), invalid(first+"username", "a.b", ruleUsername)},
		"UsernameSpace":      {"A username has no space.", username("a b"), invalid(first+"username", "a b", ruleUsername)},
		"UsernameNewline":    {"A username cannot end its line in the ACL file.", username("a\n"), invalid(first+"username", "a\n", ruleUsername)},
		"UsernameUmlaut":     {"A username is ASCII.", username("ä"), invalid(first+"username", "ä", ruleUsername)},
		"LongestUsername":    {"128 characters are the most.", username(long("u", 128)), nil},
		"TooLongUsername":    {"129 characters are too many.", username(long("u", 129)), limit(first+"username", "Too long: may not be more than 128 bytes")},
		"ReservedUsername":   {"The prefix of system users is reserved.", username("_momento_operator"), invalid(first+"username", "_momento_operator", ruleReserved)},
		"ReservedBare":       {"The prefix alone is reserved.", username("_momento_"), invalid(first+"username", "_momento_", ruleReserved)},
		"AlmostReserved":     {"Only the whole prefix is reserved.", username("_momento"), nil},
		"NoHashes":           {"Hashes are required.", one(object{"passwordHashes": nil}), limit(first+"passwordHashes", "Required value")},
		"EmptyHashes":        {"One hash is the least.", hashes(), limit(first+"passwordHashes", "Invalid value: 0: spec.acl[0].passwordHashes in body should have at least 1 items")},
		"MostHashes":         {"8 hashes are the most.", hashes(times(8, hash)...), nil},
		"TooManyHashes":      {"9 hashes are too many.", hashes(times(9, hash)...), limit(first+"passwordHashes", "Too many: 9: must have at most 8 items")},
		"ShortHash":          {"63 characters are no SHA-256.", hashes(hash[1:]), invalid(first+"passwordHashes[0]", hash[1:], ruleHash)},
		"LongHash":           {"65 characters are no SHA-256.", hashes(hash + "0"), invalid(first+"passwordHashes[0]", hash+"0", ruleHash)},
		"EmptyHash":          {"An empty string is no SHA-256.", hashes(""), invalid(first+"passwordHashes[0]", "", ruleHash)},
		"UppercaseHash":      {"A hash is lowercase.", hashes(strings.ToUpper(hash)), invalid(first+"passwordHashes[0]", strings.ToUpper(hash), ruleHash)},
		"PrefixedHash":       {"The # prefix is not part of a hash.", hashes("#" + hash), invalid(first+"passwordHashes[0]", "#"+hash, ruleHash)},
		"NotHexHash":         {"A hash is hexadecimal.", hashes("g" + hash[1:]), invalid(first+"passwordHashes[0]", "g"+hash[1:], ruleHash)},
		"NewlineHash":        {"A hash cannot end its line in the ACL file.", hashes(hash + "\n"), invalid(first+"passwordHashes[0]", hash+"\n", ruleHash)},
		"SecondHash":         {"Every hash is checked.", hashes(hash, "secret"), invalid(first+"passwordHashes[1]", "secret", ruleHash)},
		"VeryLongHash":       {"What is far too long for a hash is refused too.", hashes(long("0", 257)), limit(first+"passwordHashes[0]", "Too long: may not be more than 256 bytes")},
		"NoPermissions":      {"Permissions are required.", one(object{"permissions": nil}), limit(first+"permissions", "Required value")},
		"EmptyPermissions":   {"One permission is the least.", one(object{"permissions": list{}}), limit(first+"permissions", rulePermissions)},
		"MostPermissions":    {"16 permissions are the most.", one(object{"permissions": times(16, permission())}), nil},
		"TooManyPermissions": {"17 permissions are too many.", one(object{"permissions": times(17, permission())}), limit(first+"permissions", "Too many: 17: must have at most 16 items")},
		"NoRole":             {"A role is required.", may(object{"roleRef": nil}), limit(grant+"roleRef", "Required value")},
		"LongestRole":        {"253 characters are the most.", may(object{"roleRef": long("r", 253)}), nil},
		"TooLongRole":        {"254 characters are too many.", may(object{"roleRef": long("r", 254)}), limit(grant+"roleRef", "Too long: may not be more than 253 bytes")},
		"NoKeys":             {"Keys are required, nothing is open by default.", may(object{"keys": nil}), limit(grant+"keys", "Required value")},
		"EmptyKeys":          {"No key at all is a fine choice.", may(object{"keys": list{}}), nil},
		"MostKeys":           {"16 key patterns are the most.", may(object{"keys": times(16, key("a"))}), nil},
		"TooManyKeys":        {"17 key patterns are too many.", may(object{"keys": times(17, key("a"))}), limit(grant+"keys", "Too many: 17: must have at most 16 items")},
		"NoPattern":          {"A key needs its pattern.", may(object{"keys": list{object{"access": "read"}}}), limit(grant+"keys[0].pattern", "Required value")},
		"LongestPattern":     {"256 characters are the most.", pattern(long("*", 256)), nil},
		"TooLongPattern":     {"257 characters are too many.", pattern(long("*", 257)), limit(grant+"keys[0].pattern", "Too long: may not be more than 256 bytes")},
		"AnyGlob":            {"All of the glob language, punctuation and letters of any script.", pattern("a[b-c]?*{}()|&~%#@:;,.\\ü`$"), nil},
		"PatternEmpty":       {"No rule forbids the empty key.", pattern(""), nil},
		"PatternSpace":       {"A space would split the rule.", pattern("a b"), invalid(grant+"keys[0].pattern", "a b", rulePattern)},
		"PatternQuote":       {"A quote would join rules.", pattern(`a"b`), invalid(grant+"keys[0].pattern", `a"b`, rulePattern)},
		"PatternApostrophe":  {"A single quote would join rules.", pattern(`a'b`), invalid(grant+"keys[0].pattern", `a'b`, rulePattern)},
		"PatternTab":         {"A tab is a control character.", pattern("a\tb"), invalid(grant+"keys[0].pattern", "a\tb", rulePattern)},
		"PatternNewline":     {"A newline would start a user.", pattern("a\nuser x"), invalid(grant+"keys[0].pattern", "a\nuser x", rulePattern)},
		"PatternTrailing":    {"A newline at the end counts.", pattern("a\n"), invalid(grant+"keys[0].pattern", "a\n", rulePattern)},
		"PatternNull":        {"A zero byte is a control character.", pattern("a\x00"), invalid(grant+"keys[0].pattern", "a\x00", rulePattern)},
		"PatternDelete":      {"Delete is a control character.", pattern("a\x7f"), invalid(grant+"keys[0].pattern", "a\x7f", rulePattern)},
		"PatternNextLine":    {"Unicode has control characters of its own.", pattern("a\u0085"), invalid(grant+"keys[0].pattern", "a\u0085", rulePattern)},
		"AccessRead":         {"Read is an access mode.", may(object{"keys": list{with(key("a"), object{"access": "read"})}}), nil},
		"AccessWrite":        {"Write is an access mode.", may(object{"keys": list{with(key("a"), object{"access": "write"})}}), nil},
		"AccessReadWrite":    {"Readwrite is an access mode.", may(object{"keys": list{with(key("a"), object{"access": "readwrite"})}}), nil},
		"AccessOther":        {"Nothing else is an access mode.", may(object{"keys": list{with(key("a"), object{"access": "all"})}}), limit(grant+"keys[0].access", `Unsupported value: "all": supported values: "read", "write", "readwrite"`)},
		"MostChannels":       {"16 channels are the most.", may(object{"channels": times(16, "c")}), nil},
		"TooManyChannels":    {"17 channels are too many.", may(object{"channels": times(17, "c")}), limit(grant+"channels", "Too many: 17: must have at most 16 items")},
		"LongestChannel":     {"128 characters are the most.", channel(long("c", 128)), nil},
		"TooLongChannel":     {"129 characters are too many.", channel(long("c", 129)), limit(grant+"channels[0]", "Too long: may not be more than 128 bytes")},
		"ChannelSpace":       {"A space would split the rule.", channel("a b"), invalid(grant+"channels[0]", "a b", ruleChannel)},
		"ChannelQuote":       {"A quote would join rules.", channel(`a"b`), invalid(grant+"channels[0]", `a"b`, ruleChannel)},
		"ChannelApostrophe":  {"A single quote would join rules.", channel(`a'b`), invalid(grant+"channels[0]", `a'b`, ruleChannel)},
		"ChannelNewline":     {"A newline would start a user.", channel("a\nb"), invalid(grant+"channels[0]", "a\nb", ruleChannel)},
		"SecondBinding":      {"Every binding is checked.", list{binding(), binding(object{"username": "?"})}, invalid("spec.acl[1].username", "?", ruleUsername)},
	}

	// The same type is at both places and has to have the same rules.
	kinds := map[string]func(changes ...object) *unstructured.Unstructured{"ValkeyCluster": cluster, "ValkeyConfig": menu}
	for kind, of := range kinds {
		for name, tc := range cases {
			t.Run(kind+"/"+name, func(t *testing.T) {
				_, got := create(of(object{"acl": tc.acl}))
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("\n%s\ncreate(...): -want, +got:\n%s", tc.reason, diff)
				}
			})
		}
	}
}
