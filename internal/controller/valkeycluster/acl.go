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

package valkeycluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// keyPrimaryAuth is the password with which a server logs in to its primary.
const keyPrimaryAuth = "primaryauth"

// dueACL returns the nodes whose users are not known to be as they should: the
// rules or passwords have changed, or somebody changed them on the server.
func (f *findings) dueACL(m *memory, state v1alpha1.ClusterState) []*node {
	if f.resolved == nil || f.keys == nil || f.keys.made {
		return nil
	}
	var out []*node
	// All servers of a version are given the same.
	want := map[string]string{}
	for _, n := range f.nodes {
		if n.state == nil || n.state.Loading || !n.cared(state) {
			continue
		}
		v := n.state.Version
		if want[v] == "" {
			want[v] = f.usersDigest(n)
		}
		if m.applied(n.obj, n.state.RunID) != want[v]+n.aclDigest() {
			out = append(out, n)
		}
	}
	return out
}

// cared tells whether a member's users and certificate are looked after. While
// its cluster forms it has them from the files that it started with.
func (n *node) cared(state v1alpha1.ClusterState) bool {
	return state != v1alpha1.StateCreating || n.obj.Spec.Lifecycle != v1alpha1.LifecycleJoining
}

// users returns the users that a running server should have.
func (f *findings) users(n *node) []acl.User {
	return acl.Complete(f.resolved.users, ringOf(f.keys.auth.Data).system(), n.state.Version)
}

// usersDigest tells apart what applyACL gives a server.
func (f *findings) usersDigest(n *node) string {
	log := acl.User{Name: keyPrimaryAuth, Rules: ringOf(f.keys.auth.Data).system().ReplHashes[:1]}
	return rulesDigest(append(f.users(n), log))
}

func (n *node) aclDigest() string {
	lines := slices.Sorted(slices.Values(n.acl))
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

func rulesDigest(users []acl.User) string {
	sum := sha256.New()
	for _, u := range users {
		_, _ = fmt.Fprintf(sum, "%q %q\n", u.Name, u.Rules)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// applyACL gives a running server the users that it should have. It sets users
// one by one instead of loading the file: the file reaches a pod a minute late,
// and Valkey 8.0 crashes on ACL LOAD at a replica.
func (e *external) applyACL(ctx context.Context, c *v1alpha1.ValkeyCluster, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	vk := e.conn(c, n).Expecting(n.id())
	want := e.found.users(n)
	listed, err := vk.ACLApply(ctx, aclChange(want, n.acl))
	if err != nil {
		return fmt.Errorf("cannot set the users of %s: %w", n.obj.GetName(), err)
	}
	// Other servers have accepted this password since the pass before the one in
	// which it became the current one.
	err = vk.ConfigSet(ctx, map[string]string{keyPrimaryAuth: ringOf(e.found.keys.auth.Data).current.repl})
	if err != nil {
		return fmt.Errorf("cannot set the replication password of %s: %w", n.obj.GetName(), err)
	}
	if listed == nil || !onlyThese(want, listed) {
		// The next pass tries again: it knows the stranger, or may use a transaction.
		return nil
	}
	n.acl = listed
	e.memory.apply(n.obj, n.state.RunID, e.found.usersDigest(n)+n.aclDigest())
	return nil
}

// onlyThese tells whether a server lists no user but the ones wanted. Somebody
// may have added one after the list was read to which the change was made.
func onlyThese(want []acl.User, listed []string) bool {
	known := map[string]bool{}
	for _, u := range want {
		known[u.Name] = true
	}
	return !slices.ContainsFunc(listed, func(line string) bool {
		u, err := acl.ParseListed(line)
		return err != nil || !known[u.Name]
	})
}

// aclChange returns how a server with the users that it lists gets the users
// wanted. Who could log in before and cannot any more is disconnected; a server
// by itself only does so with users that are deleted.
//
// The user of replication is spared. A replica that is cut off from its primary
// is harm to everybody, and its connection was made when the password was good.
func aclChange(want []acl.User, listed []string) valkey.ACLChange {
	out := valkey.ACLChange{}
	have := map[string]acl.Listed{}
	for _, line := range listed {
		// A line that cannot be read tells of no user that could be disconnected.
		if u, err := acl.ParseListed(line); err == nil {
			have[u.Name] = u
		}
	}
	for _, u := range want {
		out.Set = append(out.Set, valkey.ACLSetting{Name: u.Name, Rules: u.Rules, Disconnect: u.Name != acl.ReplUser && have[u.Name].Excludes(u)})
		delete(have, u.Name)
	}
	for name := range have {
		out.Delete = append(out.Delete, name)
	}
	slices.Sort(out.Delete)
	return out
}
