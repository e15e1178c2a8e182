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

// Verify reads an ACL file the way a server does and reports the first thing
// that a server would refuse, misunderstand or crash on. It requires the default
// user, since a server opens itself to everybody without one, and the system
// users at the end.
func Verify(file string) error {
	users, err := parse(file)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(users))
	for i, u := range users {
		if slices.Contains(names, u.Name) {
			return fmt.Errorf("line %d: user %q is defined twice", i+1, u.Name)
		}
		if err := verifyRules(u.Rules); err != nil {
			return fmt.Errorf("line %d: user %q: %w", i+1, u.Name, err)
		}
		names = append(names, u.Name)
	}
	if !slices.Contains(names, DefaultUser) {
		return fmt.Errorf("there is no line for the user %q", DefaultUser)
	}
	if n := len(names); n < 2 || names[n-2] != OperatorUser || names[n-1] != ReplUser {
		return fmt.Errorf("the users %q and %q are not the last ones", OperatorUser, ReplUser)
	}
	return nil
}

// parse splits a file into users and their rules, one user a line.
func parse(file string) ([]User, error) {
	body, ok := strings.CutSuffix(file, "\n")
	if !ok {
		return nil, fmt.Errorf("the last line has no end")
	}
	lines := strings.Split(body, "\n")
	users := make([]User, 0, len(lines))
	for i, line := range lines {
		u, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		users = append(users, u)
	}
	return users, nil
}

func parseLine(line string) (User, error) {
	words := strings.Split(line, " ")
	if len(words) < 2 || words[0] != "user" {
		return User{}, fmt.Errorf("it does not define a user")
	}
	for _, w := range words {
		if w == "" || !isWord(w) {
			return User{}, fmt.Errorf("%q is not a word", w)
		}
	}
	if !validUsername.MatchString(words[1]) {
		return User{}, fmt.Errorf("%q is not a username", words[1])
	}
	rules, err := joinSelectors(words[2:])
	if err != nil {
		return User{}, err
	}
	return User{Name: words[1], Rules: rules}, nil
}

// joinSelectors joins the words of each selector into one rule, as a server
// does: from a word that begins with an opening parenthesis to the next that
// ends with a closing one.
func joinSelectors(words []string) ([]string, error) {
	var rules []string
	var open []string
	for _, w := range words {
		if open == nil && !strings.HasPrefix(w, "(") {
			rules = append(rules, w)
			continue
		}
		open = append(open, w)
		if strings.HasSuffix(w, ")") {
			rules = append(rules, strings.Join(open, " "))
			open = nil
		}
	}
	if open != nil {
		return nil, fmt.Errorf("the selector that begins with %q is not closed", open[0])
	}
	return rules, nil
}

// userRules are the rules that stand for themselves.
var userRules = []string{"reset", "on", "off", "nopass", "resetchannels"}

func verifyRules(rules []string) error {
	root := make([]string, 0, len(rules))
	for _, r := range rules {
		inner, isSelector := strings.CutPrefix(r, "(")
		switch {
		case isSelector:
			if err := verifyAccess(strings.Split(strings.TrimSuffix(inner, ")"), " ")); err != nil {
				return fmt.Errorf("selector %q: %w", r, err)
			}
		case slices.Contains(userRules, r):
		case strings.HasPrefix(r, "#") && validHash.MatchString(r[1:]):
		default:
			root = append(root, r)
		}
	}
	return verifyAccess(root)
}

// verifyAccess checks the rules that a user and a selector have in common.
func verifyAccess(rules []string) error {
	allKeys, allChannels := false, false
	for _, r := range rules {
		switch {
		case r == "resetchannels", isCommandRule(r):
		case r == "~*":
			allKeys = true
		case r == "&*":
			allChannels = true
		case isKeyRule(r) && allKeys, strings.HasPrefix(r, "&") && allChannels:
			return fmt.Errorf("%q follows a rule that already grants all", r)
		case isKeyRule(r), strings.HasPrefix(r, "&"):
		default:
			return fmt.Errorf("%q is not a rule", r)
		}
	}
	return nil
}

func isKeyRule(r string) bool {
	return strings.HasPrefix(r, "~") || strings.HasPrefix(r, "%R~") || strings.HasPrefix(r, "%W~")
}
