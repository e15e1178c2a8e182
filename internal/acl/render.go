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

// Package acl turns roles and bindings into Valkey users and into an ACL file.
// It is pure.
//
// An ACL file has no quoting, and a server that reads a bad one refuses it or,
// with an unbalanced parenthesis, crashes. So nothing leaves this package
// unchecked: Render refuses what it cannot express, and File reads its own
// result the way a server does before it hands it out.
package acl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// Names of the users that are always there.
const (
	// OperatorUser is the user as which the provider logs in.
	OperatorUser = "_momento_operator"

	// ReplUser is the user as which members log in to each other.
	ReplUser = "_momento_repl"

	// DefaultUser is the user of connections that do not log in.
	DefaultUser = "default"
)

// reservedPrefix starts the names of system users.
const reservedPrefix = "_momento_"

var (
	validUsername = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	validHash     = regexp.MustCompile(`^[0-9a-f]{64}$`)
	validName     = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`)
)

// A User is a Valkey user and its rules.
type User struct {
	Name string

	// Rules are what follows "user NAME" in an ACL file. Each is one argument of
	// ACL SETUSER too, a selector with its parentheses included. They begin with
	// reset and so describe the whole user, whatever it was before.
	Rules []string
}

// A RoleNotFoundError says that a binding refers to a role that does not exist.
type RoleNotFoundError struct{ Role, Username string }

// Error returns the sentence that users read.
func (e *RoleNotFoundError) Error() string {
	return fmt.Sprintf("ValkeyRole %q not found (referenced by user %q)", e.Role, e.Username)
}

// An UnsafeError says that a text of a binding cannot be written into an ACL
// file without changing its meaning.
type UnsafeError struct {
	Username string

	// What the text is, for example key pattern.
	What string

	// Text is the offending text.
	Text string

	// Why says what is wrong with it and what to do.
	Why string
}

// Error returns the sentence that users read.
func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %q of user %q cannot be used: %s", e.What, e.Text, e.Username, e.Why)
}

// Render turns bindings into users. Its error, if any, is a *RoleNotFoundError
// or an *UnsafeError.
func Render(bindings []v1alpha1.ACLBinding, roles map[string]v1alpha1.ValkeyRoleSpec) ([]User, error) {
	users := make([]User, 0, len(bindings))
	for _, b := range bindings {
		u, err := renderUser(b, roles)
		if err != nil {
			return nil, err
		}
		users = append(users, u)
	}
	return users, nil
}

func renderUser(b v1alpha1.ACLBinding, roles map[string]v1alpha1.ValkeyRoleSpec) (User, error) {
	if err := Safe(b); err != nil {
		return User{}, err
	}
	// Without resetchannels the setting acl-pubsub-default would decide.
	rules := []string{"reset", "on"}
	for _, h := range b.PasswordHashes {
		rules = append(rules, "#"+string(h))
	}
	rules = append(rules, "resetchannels")
	for i, p := range b.Permissions {
		role, ok := roles[p.RoleRef]
		if !ok {
			return User{}, &RoleNotFoundError{Role: p.RoleRef, Username: b.Username}
		}
		cmds, err := commands(b.Username, p.RoleRef, role)
		if err != nil {
			return User{}, err
		}
		if i == 0 {
			rules = append(rules, slices.Concat(keys(p.Keys), channels(p.Channels), cmds)...)
			continue
		}
		s, err := selector(b.Username, p, cmds)
		if err != nil {
			return User{}, err
		}
		rules = append(rules, s)
	}
	return User{Name: b.Username, Rules: rules}, nil
}

// keys renders key patterns. The rule ~* already grants all that the others do,
// and a server refuses any pattern after it.
func keys(patterns []v1alpha1.KeyPattern) []string {
	out := make([]string, 0, len(patterns))
	for _, k := range patterns {
		switch k.Access {
		case v1alpha1.AccessRead:
			out = append(out, "%R~"+k.Pattern)
		case v1alpha1.AccessWrite:
			out = append(out, "%W~"+k.Pattern)
		default:
			if k.Pattern == "*" {
				return []string{"~*"}
			}
			out = append(out, "~"+k.Pattern)
		}
	}
	return out
}

// channels renders channel patterns. As for keys, &* stands alone.
func channels(patterns []v1alpha1.ChannelPattern) []string {
	out := make([]string, 0, len(patterns))
	for _, c := range patterns {
		if c == "*" {
			return []string{"&*"}
		}
		out = append(out, "&"+string(c))
	}
	return out
}

// commands renders a role, categories first.
func commands(username, roleRef string, role v1alpha1.ValkeyRoleSpec) ([]string, error) {
	out := make([]string, 0, len(role.Categories)+len(role.Commands))
	for _, c := range role.Categories {
		out = append(out, sign(c.Access)+"@"+string(c.Name))
	}
	for _, c := range role.Commands {
		rule := sign(c.Access) + string(c.Name)
		if c.Subcommand != "" {
			rule += "|" + string(c.Subcommand)
		}
		out = append(out, rule)
	}
	for _, rule := range out {
		if !isCommandRule(rule) {
			return nil, &UnsafeError{Username: username, What: fmt.Sprintf("command rule of ValkeyRole %q", roleRef), Text: rule, Why: "names begin with a letter and go on with letters, digits, hyphens and underscores"}
		}
	}
	return out, nil
}

// sign treats everything but allow as deny.
func sign(a v1alpha1.RuleAccess) string {
	if a == v1alpha1.AccessAllow {
		return "+"
	}
	return "-"
}

func isCommandRule(rule string) bool {
	name, ok := strings.CutPrefix(rule, "+")
	if !ok {
		name, ok = strings.CutPrefix(rule, "-")
	}
	if !ok {
		return false
	}
	if category, ok := strings.CutPrefix(name, "@"); ok {
		return validName.MatchString(category)
	}
	name, sub, ok := strings.Cut(name, "|")
	return validName.MatchString(name) && (!ok || validName.MatchString(sub))
}

// Safe checks the parts of a binding that the API's schema should already have
// checked: what it admits cannot end a line, a word or a user. Its error, if
// any, is an *UnsafeError.
func Safe(b v1alpha1.ACLBinding) error {
	unsafe := func(what, text, why string) error {
		return &UnsafeError{Username: b.Username, What: what, Text: text, Why: why}
	}
	if !validUsername.MatchString(b.Username) {
		return unsafe("username", b.Username, "it must consist of letters, digits, hyphens and underscores")
	}
	if strings.HasPrefix(b.Username, reservedPrefix) {
		return unsafe("username", b.Username, "the prefix "+reservedPrefix+" is reserved for system users")
	}
	for _, h := range b.PasswordHashes {
		if !validHash.MatchString(string(h)) {
			return unsafe("password hash", string(h), "it must be a SHA-256 digest of 64 lowercase hexadecimal characters")
		}
	}
	const why = "control characters, spaces and quotes are not allowed"
	for _, p := range b.Permissions {
		for _, k := range p.Keys {
			if !isWord(k.Pattern) {
				return unsafe("key pattern", k.Pattern, why)
			}
		}
		for _, c := range p.Channels {
			if !isWord(string(c)) {
				return unsafe("channel pattern", string(c), why)
			}
		}
	}
	return nil
}

// isWord reports whether a server reads a text as part of one word.
func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '"' || r == '\''
	})
}
