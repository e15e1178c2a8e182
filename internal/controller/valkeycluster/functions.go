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
	"fmt"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// emptyDump is the length of a dump without functions: a version and a checksum.
const emptyDump = 10

// bringFunctions gives a member that is about to get its first slots the functions
// that another primary has. Clients load them into every primary of their time, and
// Valkey moves them neither with slots nor by gossip.
func (e *external) bringFunctions(ctx context.Context, c *v1alpha1.ValkeyCluster, to string) error {
	var from *node
	for _, n := range e.found.nodes {
		switch {
		case n.state == nil:
		case n.obj.GetName() == to && len(n.ownSlots()) > 0:
			return nil
		case n.role() == v1alpha1.RolePrimary:
			from = n
		}
	}
	if from == nil {
		return nil
	}
	dump, err := e.conn(c, from).Expecting(from.id()).FunctionDump(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the functions of %s: %w", from.obj.GetName(), err)
	}
	if len(dump) <= emptyDump {
		return nil
	}
	return e.node(c, to, func(n *valkey.Node) error { return n.FunctionRestore(ctx, dump) })
}
