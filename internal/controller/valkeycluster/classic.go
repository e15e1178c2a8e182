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
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/settings"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

const (
	// moveBudget is how long one pass moves slots the classic way. For as long
	// nothing else is done for the cluster, except that a death ends it.
	moveBudget = 3 * time.Second
	// keysPerMigrate is how many keys one MIGRATE moves.
	keysPerMigrate = 100
	migrateTimeout = 5 * time.Second
	// slotsAtOnce is how many slots of a pair of shards are open at a time. Most of
	// the time of a slot is waiting: a server writes its nodes.conf to disk after a
	// SETSLOT, once for all that came together, and since Valkey 8.0 the reply is held
	// back until the server's replicas have done so too.
	slotsAtOnce = 32
)

// moveSlots moves slots key by key, as versions before 9.0 need it.
func (e *external) moveSlots(ctx context.Context, c *v1alpha1.ValkeyCluster, a topology.MoveSlots) error {
	ctx, cancel := context.WithTimeout(ctx, moveBudget+actionTimeout)
	defer cancel()
	m := mover{
		plan: a, atOnce: slotsAtOnce, disturbed: e.watch.deaths(e.found.nodes),
		req: valkey.MigrateRequest{
			Port: settings.Port, Timeout: migrateTimeout, Replace: true,
			Credentials: valkey.Credentials{Username: acl.ReplUser, Password: ringOf(e.keys.auth.Data).current.repl},
		},
	}
	for _, n := range e.found.nodes {
		switch {
		case n.state == nil:
			continue
		case n.obj.GetName() == a.From:
			m.from = e.conn(c, n).Expecting(a.FromID)
		case n.obj.GetName() == a.To:
			m.to = e.conn(c, n).Expecting(a.ToID)
			m.req.IP = n.pod.Status.PodIP
		case n.state.Replication.Role == valkey.RolePrimary && len(n.ownSlots()) > 0:
			m.others = append(m.others, e.conn(c, n).Expecting(n.id()))
		}
	}
	if m.from == nil || m.to == nil {
		return fmt.Errorf("%s or %s does not answer", a.From, a.To)
	}
	if err := e.bringFunctions(ctx, c, a.To); err != nil {
		return err
	}
	return m.moveAll(ctx, time.Now().Add(moveBudget))
}

type mover struct {
	plan     topology.MoveSlots
	from, to *valkey.Node
	others   []*valkey.Node
	req      valkey.MigrateRequest
	// atOnce is how many slots are open at a time.
	atOnce int
	// disturbed tells whether something has happened that cannot wait.
	disturbed func() bool
}

// moveAll moves slots until a deadline, several at a time. It ends the slots that it
// began, and begins none after an error or a disturbance.
func (m *mover) moveAll(ctx context.Context, deadline time.Time) error {
	g := errgroup.Group{}
	g.SetLimit(m.atOnce)
	failed := atomic.Bool{}
	for _, slot := range m.plan.Slots {
		if time.Now().After(deadline) || failed.Load() || m.disturbed() {
			break
		}
		g.Go(func() error {
			if err := m.move(ctx, slot); err != nil {
				failed.Store(true)
				return fmt.Errorf("slot %d: %w", slot, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (m *mover) move(ctx context.Context, slot int) error {
	// The target first: a source must never send clients to a target that does
	// not expect them.
	if err := m.to.SetSlotImporting(ctx, slot, m.plan.FromID); err != nil {
		return err
	}
	if err := m.from.SetSlotMigrating(ctx, slot, m.plan.ToID); err != nil {
		return err
	}
	for {
		keys, err := m.from.GetKeysInSlot(ctx, slot, keysPerMigrate)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		req := m.req
		req.Keys = keys
		if err := m.from.Migrate(ctx, req); err != nil {
			return err
		}
	}
	return m.settle(ctx, slot)
}

// settle gives the slot to the target, on the target first so that there is
// always an owner. The other primaries would learn it by gossip a moment later.
func (m *mover) settle(ctx context.Context, slot int) error {
	if err := m.to.SetSlotNode(ctx, slot, m.plan.ToID); err != nil {
		return err
	}
	if err := m.from.SetSlotNode(ctx, slot, m.plan.ToID); err != nil {
		return err
	}
	g := errgroup.Group{}
	for _, n := range m.others {
		g.Go(func() error {
			err := n.SetSlotNode(ctx, slot, m.plan.ToID)
			if valkey.IsUnreachable(err) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}
