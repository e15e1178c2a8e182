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

package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/valkey-io/valkey-go"
)

// An ACLUser is a user as ACL GETUSER reports it. Compare these fields and not the text of ACL LIST, which differs between
// versions.
type ACLUser struct {
	// Flags are "on" or "off", "nopass", "sanitize-payload" (8.x only) and the like.
	Flags []string
	// Passwords are the SHA-256 sums of the passwords in hexadecimal.
	Passwords []string
	// ACLRules are the user's own rules.
	ACLRules
	// Selectors are further sets of rules; a command is allowed where one set allows it.
	Selectors []ACLRules
}

// ACLRules are one set of rules, each in the server's own words.
type ACLRules struct {
	// Commands are the command rules, for example "-@all +get".
	Commands string
	// Keys are the key patterns, for example "~app:* %R~ro:*".
	Keys string
	// Channels are the patterns of Pub/Sub channels, for example "&app:*".
	Channels string
	// Databases are the databases that may be used, for example "alldbs" (Valkey 9.1 and newer, empty before).
	Databases string
}

// ACLLoad makes the server read its ACL file again. A file with an error changes nothing, with one exception: an unbalanced
// parenthesis kills the server (8.0.1 to 9.1.2), so only checked files may be loaded. On a replica of version 8.0.1
// any load kills the server: use ACLSetUser and ACLDelUser there.
func (n *Node) ACLLoad(ctx context.Context) error { return n.ok(ctx, command("ACL", "LOAD")) }

// ACLSetUser applies rules to a user, in order, all or none. To replace a user's rules the first one must be "reset".
func (n *Node) ACLSetUser(ctx context.Context, name string, rules ...string) error {
	c := call{args: append([]string{"ACL", "SETUSER", name}, rules...), what: "ACL SETUSER " + name, secrets: ruleSecrets(rules)}
	return n.ok(ctx, c)
}

// An ACLChange is what is to become of a server's users.
type ACLChange struct {
	// Set gives users their rules.
	Set []ACLSetting
	// Delete names users to delete, with their connections.
	Delete []string
}

// An ACLSetting gives a user rules. To replace those that it has the first one must be "reset".
type ACLSetting struct {
	Name  string
	Rules []string
	// Disconnect closes the user's connections, but for the one that carries the command.
	Disconnect bool
}

// ACLApply changes users in one transaction and returns the server's users as lines of an ACL file, the way the change left
// them: nobody else's change can be among what is read back. A setting and the end of the user's connections leave us in
// the same packet, so that the second is not missed when we die between them. Each user is changed as a whole or not at
// all; where one is refused, the others have been changed all the same.
//
// A server may still have users that do not let us open a transaction. The change is made then, but nothing is returned.
func (n *Node) ACLApply(ctx context.Context, ch ACLChange) ([]string, error) {
	s := ch.steps()
	c := call{what: "ACL SETUSER", secrets: s.secrets}
	list := len(s.commands)
	commands := slices.Concat([][]string{{"MULTI"}}, s.commands, [][]string{{"ACL", "LIST"}, {"EXEC"}})
	var replies []valkey.ValkeyMessage
	whole := false
	err := n.withConn(ctx, 0, func(ctx context.Context, cn *conn) error {
		rs, err := cn.do(ctx, commands)
		if err != nil {
			return err
		}
		replies, whole, err = transaction(rs)
		return translate(err, s.secrets)
	})
	if err != nil {
		return nil, n.wrap(c, err)
	}
	var errs []error
	for i, r := range replies[:list] {
		if err := r.Error(); err != nil {
			errs = append(errs, n.wrap(call{what: s.what[i]}, translate(err, s.secrets)))
		}
	}
	if len(errs) > 0 || !whole {
		return nil, errors.Join(errs...)
	}
	out, err := replies[list].AsStrSlice()
	return out, n.wrap(command("ACL", "LIST"), translate(err, nil))
}

// steps are the commands of a change, each with what an error says of it.
type steps struct {
	commands [][]string
	what     []string
	secrets  []string
}

func (s *steps) add(what string, args ...string) {
	s.commands = append(s.commands, args)
	s.what = append(s.what, what)
}

func (ch ACLChange) steps() steps {
	out := steps{}
	if len(ch.Delete) > 0 {
		out.add("ACL DELUSER "+strings.Join(ch.Delete, " "), append([]string{"ACL", "DELUSER"}, ch.Delete...)...)
	}
	for _, s := range ch.Set {
		out.add("ACL SETUSER "+s.Name, append([]string{"ACL", "SETUSER", s.Name}, s.Rules...)...)
		out.secrets = append(out.secrets, ruleSecrets(s.Rules)...)
		if s.Disconnect {
			out.add("CLIENT KILL USER "+s.Name, "CLIENT", "KILL", "USER", s.Name, "SKIPME", "yes")
		}
	}
	return out
}

// transaction returns the replies to what stood between MULTI and EXEC, and whether that was a transaction. Where MULTI
// was refused the server has carried out the commands one by one.
func transaction(rs []valkey.ValkeyResult) ([]valkey.ValkeyMessage, bool, error) {
	if rs[0].Error() != nil {
		out := make([]valkey.ValkeyMessage, len(rs)-2)
		for i, r := range rs[1 : len(rs)-1] {
			// An error that the server answers is in the message too.
			out[i], _ = r.ToMessage()
		}
		return out, false, nil
	}
	out, err := rs[len(rs)-1].ToArray()
	return out, true, err
}

// ruleSecrets returns what of rules must not be told: a refused rule is repeated in the error, and these hold passwords or
// their sums.
func ruleSecrets(rules []string) []string {
	var out []string
	for _, r := range rules {
		if strings.ContainsAny(r[:min(1, len(r))], "><#!") {
			out = append(out, r[1:])
		}
	}
	return out
}

// ACLDelUser deletes users and closes their connections. Users that do not exist are passed over.
func (n *Node) ACLDelUser(ctx context.Context, names ...string) error {
	return n.ok(ctx, command(append([]string{"ACL", "DELUSER"}, names...)...))
}

// ACLList returns the server's users as lines of an ACL file.
func (n *Node) ACLList(ctx context.Context) ([]string, error) {
	return n.list(ctx, command("ACL", "LIST"))
}

// ACLUsers returns the names of the server's users.
func (n *Node) ACLUsers(ctx context.Context) ([]string, error) {
	return n.list(ctx, command("ACL", "USERS"))
}

// ACLWhoAmI returns the name of the user that we are to the server.
func (n *Node) ACLWhoAmI(ctx context.Context) (string, error) {
	return n.text(ctx, command("ACL", "WHOAMI"))
}

// ACLDryRun asks whether a user may run a command. It returns the server's reason against it, empty where there is none.
func (n *Node) ACLDryRun(ctx context.Context, user string, args ...string) (string, error) {
	s, err := n.text(ctx, command(append([]string{"ACL", "DRYRUN", user}, args...)...))
	if s == "OK" {
		return "", err
	}
	return s, err
}

// ACLGetUser returns a user, and false where there is none of that name.
func (n *Node) ACLGetUser(ctx context.Context, name string) (ACLUser, bool, error) {
	c := command("ACL", "GETUSER", name)
	m, err := n.one(ctx, c)
	if err != nil || m.IsNil() {
		return ACLUser{}, false, err
	}
	v, err := m.ToAny()
	if err != nil {
		return ACLUser{}, false, n.wrap(c, err)
	}
	u, err := ParseACLUser(v)
	return u, err == nil, n.wrap(c, err)
}

// ParseACLUser parses the reply of ACL GETUSER as generic values, a map (RESP3) or a flat list of names and values (RESP2).
func ParseACLUser(reply any) (ACLUser, error) {
	m, err := anyMap(reply)
	if err != nil {
		return ACLUser{}, fmt.Errorf("%w to ACL GETUSER: %w", errBroken, err)
	}
	u := ACLUser{Flags: stringList(m["flags"]), Passwords: stringList(m["passwords"]), ACLRules: aclRules(m)}
	selectors, _ := m["selectors"].([]any)
	for _, s := range selectors {
		sm, err := anyMap(s)
		if err != nil {
			return ACLUser{}, fmt.Errorf("%w to ACL GETUSER: %w", errBroken, err)
		}
		u.Selectors = append(u.Selectors, aclRules(sm))
	}
	return u, nil
}

func aclRules(m map[string]any) ACLRules {
	return ACLRules{
		Commands:  toString(m["commands"]),
		Keys:      toString(m["keys"]),
		Channels:  toString(m["channels"]),
		Databases: toString(m["databases"]),
	}
}

func stringList(v any) []string {
	l, _ := v.([]any)
	out := make([]string, len(l))
	for i := range l {
		out[i] = toString(l[i])
	}
	return out
}

// ClientKillUser closes all connections of a user but our own and returns how many there were. A change of password or
// switching a user off does not do that.
func (n *Node) ClientKillUser(ctx context.Context, name string) (int64, error) {
	return n.number(ctx, command("CLIENT", "KILL", "USER", name, "SKIPME", "yes"))
}
