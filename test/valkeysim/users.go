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

package valkeysim

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

const defaultUser = "default"

// users are the rules of the users of a server by name, each in the order in which they were given.
type users map[string][]string

// parseUsers reads an ACL file. A server without one has the open default user.
func parseUsers(file string) users {
	out := users{defaultUser: {"on", "nopass", "~*", "&*", "+@all"}}
	for line := range strings.Lines(file) {
		words := strings.Fields(line)
		if len(words) > 1 && words[0] == "user" {
			out.set(words[1], words[2:])
		}
	}
	return out
}

func (u users) set(name string, rules []string) {
	have := u[name]
	for _, r := range rules {
		if r == "reset" {
			have = nil
			continue
		}
		have = append(slices.Clip(have), r)
	}
	u[name] = have
}

// admits tells whether somebody with a password may log in.
func (u users) admits(name, password string) bool {
	rules := u[name]
	if !enabled(rules) {
		return false
	}
	sum := sha256.Sum256([]byte(password))
	return slices.Contains(rules, "nopass") || slices.Contains(rules, "#"+hex.EncodeToString(sum[:]))
}

// open tells whether connections that do not log in are served.
func (u users) open() bool {
	return enabled(u[defaultUser]) && slices.Contains(u[defaultUser], "nopass")
}

func enabled(rules []string) bool {
	on := false
	for _, r := range rules {
		on = on && r != "off" || r == "on"
	}
	return on
}

// lines returns the users as ACL LIST does.
func (u users) lines() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(u)) {
		out = append(out, strings.Join(append([]string{"user", name}, u[name]...), " "))
	}
	return out
}
