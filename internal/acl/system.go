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
	"strconv"
	"strings"
)

// A System holds the password hashes of the system users. Several hashes of one
// user are valid at once, which makes rotation possible.
type System struct{ OperatorHashes, ReplHashes []string }

// operatorCommands are what the provider sends, and what helps to see why something
// went wrong. Nothing is among them that deletes keys, empties or ends a server, or
// loads the ACL file, on which some versions crash: the provider cannot do so even
// by mistake.
var operatorCommands = []string{
	"ping", "info", "role", "wait", "dbsize", "multi", "exec",
	"acl|list", "acl|users", "acl|getuser", "acl|dryrun", "acl|whoami", "acl|setuser", "acl|deluser",
	"config|get", "config|set",
	"client|setinfo", "client|list", "client|kill",
	"cluster|info", "cluster|nodes", "cluster|slots", "cluster|shards", "cluster|links", "cluster|myid",
	"cluster|meet", "cluster|forget", "cluster|replicate", "cluster|failover",
	"cluster|addslots", "cluster|addslotsrange", "cluster|setslot",
	"cluster|set-config-epoch", "cluster|bumpepoch", "cluster|saveconfig",
	"cluster|countkeysinslot", "cluster|getkeysinslot", "cluster|slot-stats", "cluster|count-failure-reports",
	// New primaries get the functions of the others.
	"function|dump", "function|restore",
	// Moves keys slot by slot where a server lacks atomic migration. This is why
	// the operator has access to keys, with no other command to use it.
	"migrate",
}

// operatorCommands9 came with Valkey 9.0. An earlier server refuses a file that
// names them.
var operatorCommands9 = []string{"cluster|migrateslots", "cluster|getslotmigrations", "cluster|cancelslotmigrations"}

// replCommands are what a member sends to another: replication, with sync for
// the second channel of a dual-channel one, and the arrival of migrated keys.
var replCommands = []string{"psync", "replconf", "ping", "sync", "select", "restore-asking"}

// replCommands9 let an atomic migration write the keys it brings.
var replCommands9 = []string{"cluster|syncslots", "@write"}

// Complete returns all users of a cluster in the order of the ACL file: the
// given ones by name, the default user unless it is among them, and the system
// users. Version is the lowest version of Valkey that has to understand them;
// one that cannot be read counts as old.
func Complete(users []User, sys System, version string) []User {
	out := slices.Clone(users)
	slices.SortStableFunc(out, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	if !slices.ContainsFunc(out, func(u User) bool { return u.Name == DefaultUser }) {
		out = append(out, defaultUser(len(users) == 0))
	}
	operator, repl := operatorCommands, replCommands
	if major(version) >= 9 {
		operator = slices.Concat(operator, operatorCommands9)
		repl = slices.Concat(repl, replCommands9)
	}
	return append(out, systemUser(OperatorUser, sys.OperatorHashes, operator), systemUser(ReplUser, sys.ReplHashes, repl))
}

// defaultUser returns the user of connections that do not log in. A server for
// which a file leaves it out lets everybody in.
func defaultUser(open bool) User {
	if open {
		return User{Name: DefaultUser, Rules: []string{"reset", "on", "nopass", "~*", "&*", "+@all"}}
	}
	return User{Name: DefaultUser, Rules: []string{"reset", "off", "resetchannels"}}
}

func systemUser(name string, hashes, commands []string) User {
	rules := []string{"reset", "on"}
	for _, h := range hashes {
		rules = append(rules, "#"+h)
	}
	rules = append(rules, "resetchannels", "~*")
	for _, c := range commands {
		rules = append(rules, "+"+c)
	}
	return User{Name: name, Rules: rules}
}

// major reads the first number of a version.
func major(version string) int {
	first, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	first, _, _ = strings.Cut(first, "-")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}
