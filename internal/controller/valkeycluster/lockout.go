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

// Command provider runs the controllers of provider-valkey.
package valkeycluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// shutOut returns the members that accept none of the provider's passwords.
func shutOut(nodes []*node) []*node {
	var out []*node
	for _, n := range nodes {
		if valkey.IsAuth(n.err) {
			out = append(out, n)
		}
	}
	return out
}

// lockedOut says what to do if every member that answers shuts the provider out.
// That is so when the Secrets with the passwords were lost or changed, both at once
// and while no provider ran that remembered them. Servers keep only hashes, and
// nothing of the cluster may be touched without them.
func lockedOut(c *v1alpha1.ValkeyCluster, nodes []*node) error {
	if len(shutOut(nodes)) == 0 || slices.ContainsFunc(nodes, func(n *node) bool { return n.state != nil }) {
		return nil
	}
	return fmt.Errorf("members do not accept the passwords in Secrets %q and %q, as when both were deleted while the provider was down: restore one of them, or give members the new password by hand (docs/security.md)",
		manifest.AuthSecretName(c.GetName()), manifest.AuthBackupName(c.GetName()))
}

// admittable returns the members that shut the provider out but let anybody in who
// does not log in, with all rights, because no user is bound.
func admittable(r *resolved, nodes []*node) []*node {
	if r == nil || len(r.users) > 0 {
		return nil
	}
	// Without its id a member cannot be told from a server of somebody else that got
	// its address.
	return slices.DeleteFunc(shutOut(nodes), func(n *node) bool { return n.id() == "" })
}

// admit has a member accept the provider's password, by way of the default user.
// The next pass logs in with it and gives the member all that it should have.
func (e *external) admit(ctx context.Context, c *v1alpha1.ValkeyCluster, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	// What an old version does not know would make it refuse all.
	const oldest = "8.0.0"
	users := acl.Complete(nil, ringOf(e.found.keys.auth.Data).system(), oldest)
	i := slices.IndexFunc(users, func(u acl.User) bool { return u.Name == operatorUser })
	vk := e.options.Pool.Node(e.endpoint(c, n), valkey.Credentials{}, e.tls).Expecting(n.id())
	// Whoever came in with a password that was lost is not the provider any more.
	set := valkey.ACLSetting{Name: operatorUser, Rules: users[i].Rules, Disconnect: true}
	if _, err := vk.ACLApply(ctx, valkey.ACLChange{Set: []valkey.ACLSetting{set}}); err != nil && !valkey.IsOtherNode(err) {
		return fmt.Errorf("cannot let the provider in to %s again: %w", n.obj.GetName(), err)
	}
	return nil
}
