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
	"errors"
	"fmt"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// trialUser is a user that exists for a moment, switched off, to let a server
// check rules. Its prefix is reserved, so nobody's user has the name.
const trialUser = "_momento_trial"

// tryACL lets one server of each running version check the rules before they
// reach a file. A server refuses to start with a file that names a command which
// it does not know, so a bad rule must never get that far.
func (e *external) tryACL(ctx context.Context, c *v1alpha1.ValkeyCluster, r *resolved, nodes []*node) error {
	if r == nil || len(r.users) == 0 {
		return nil
	}
	digest := rulesDigest(r.users)
	for version, n := range onePerVersion(nodes) {
		key := "trial/" + version
		if e.memory.applied(c, key) == digest {
			continue
		}
		err := e.tryOn(ctx, c, r, n)
		if errors.As(err, &invalid{}) {
			return err
		}
		// A server that does not answer proves nothing: it is asked again.
		if err == nil {
			e.memory.apply(c, key, digest)
		}
	}
	return nil
}

func onePerVersion(nodes []*node) map[string]*node {
	out := map[string]*node{}
	for _, n := range nodes {
		if n.state != nil && !n.state.Loading && out[n.state.Version] == nil {
			out[n.state.Version] = n
		}
	}
	return out
}

func (e *external) tryOn(ctx context.Context, c *v1alpha1.ValkeyCluster, r *resolved, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	vk := e.conn(c, n)
	var refused error
	for _, u := range r.users {
		err := vk.ACLSetUser(ctx, trialUser, append(append([]string{}, u.Rules...), "off")...)
		var server *valkey.ServerError
		if errors.As(err, &server) && !valkey.IsNoPerm(err) && !valkey.IsLoading(err) {
			refused = invalid{fmt.Errorf("ACL user %q: Valkey %s refuses its rules: %s; correct the ValkeyRole or the binding", u.Name, n.state.Version, server.Message)}
			break
		}
		if err != nil {
			return err
		}
	}
	if err := vk.ACLDelUser(ctx, trialUser); err != nil && refused == nil {
		return err
	}
	return refused
}
