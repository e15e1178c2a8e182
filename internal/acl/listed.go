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
	"fmt"
	"slices"
	"strings"
)

// A Listed is what a server's ACL LIST tells of who may log in as a user. What
// the user may do is left out: versions word it differently.
type Listed struct {
	Name string

	// On is whether anybody may log in as the user.
	On bool

	// NoPass is whether any password will do.
	NoPass bool

	// Hashes are the SHA-256 digests of the passwords.
	Hashes []string
}

// ParseListed reads one line of ACL LIST.
func ParseListed(line string) (Listed, error) {
	words := strings.Split(line, " ")
	if len(words) < 2 || words[0] != "user" || words[1] == "" {
		return Listed{}, fmt.Errorf("the server lists a user in a way that cannot be read")
	}
	u := Listed{Name: words[1]}
	for _, w := range words[2:] {
		hash, isHash := strings.CutPrefix(w, "#")
		switch {
		case strings.HasPrefix(w, "("):
			// Selectors come last and hold no passwords.
			return u, nil
		case w == "on":
			u.On = true
		case w == "nopass":
			u.NoPass = true
		case isHash && validHash.MatchString(hash):
			u.Hashes = append(u.Hashes, hash)
		}
	}
	return u, nil
}

// Excludes reports whether somebody who could log in as the user that a server
// lists can no longer do so with the rules of the user wanted. Connections stay
// logged in whatever becomes of their password, so they have to be closed.
func (l Listed) Excludes(want User) bool {
	if !l.On {
		return false
	}
	if !slices.Contains(want.Rules, "on") {
		return true
	}
	if slices.Contains(want.Rules, "nopass") {
		return false
	}
	return l.NoPass || slices.ContainsFunc(l.Hashes, func(h string) bool { return !slices.Contains(want.Rules, "#"+h) })
}
