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
	"strconv"
	"time"
)

// A FailoverMode says how much agreement a failover needs.
type FailoverMode string

// The modes of a failover. Only the default mode never loses an acknowledged write.
const (
	// FailoverDefault hands over in agreement with a live primary, which stops clients until the replica has caught up.
	FailoverDefault FailoverMode = ""
	// FailoverForce does not ask the primary, but needs the votes of a majority of primaries.
	FailoverForce FailoverMode = "FORCE"
	// FailoverTakeover asks nobody. It is for a cluster that has lost its majority.
	FailoverTakeover FailoverMode = "TAKEOVER"
)

// setSlotTimeout is how long SETSLOT waits for the primary's replicas to confirm (Valkey 8.0 and newer).
const setSlotTimeout = 2 * time.Second

// MyID returns the server's node id.
func (n *Node) MyID(ctx context.Context) (string, error) {
	return n.text(ctx, command("CLUSTER", "MYID"))
}

// Meet makes the server greet the one at ip and port. It returns before the two know each other, and also where nobody
// is there, or the id has been forgotten within the last 60 s and stays ignored. Whoever calls it must know that the
// address belongs to the same cluster: it merges clusters.
func (n *Node) Meet(ctx context.Context, ip string, port int) error {
	return n.ok(ctx, command("CLUSTER", "MEET", ip, strconv.Itoa(port)))
}

// Forget removes a node from the server's view and keeps gossip from bringing it back for 60 s. The news spreads to other
// members. To forget a node again within the 60 s is no error. See IsUnknownNode and IsForgetMyMaster.
func (n *Node) Forget(ctx context.Context, id string) error {
	return n.ok(ctx, command("CLUSTER", "FORGET", id))
}

// Replicate makes the server a replica of a primary, which it must know already: see IsUnknownNode. What the server holds
// is discarded. A primary with slots or keys refuses: see IsNotEmpty.
func (n *Node) Replicate(ctx context.Context, primaryID string) error {
	return n.ok(ctx, command("CLUSTER", "REPLICATE", primaryID))
}

// AddSlots makes the server the owner of slots that have none. It adds all or nothing: see IsSlotBusy.
func (n *Node) AddSlots(ctx context.Context, ranges []SlotRange) error {
	return n.ok(ctx, command(append([]string{"CLUSTER", "ADDSLOTSRANGE"}, rangeArgs(ranges)...)...))
}

// DelSlots makes the server forget the owner of slots, in its own view only.
func (n *Node) DelSlots(ctx context.Context, ranges []SlotRange) error {
	return n.ok(ctx, command(append([]string{"CLUSTER", "DELSLOTSRANGE"}, rangeArgs(ranges)...)...))
}

// SetConfigEpoch gives a server that knows nobody else its first config epoch. See IsKnowsOthers and IsEpochSet.
func (n *Node) SetConfigEpoch(ctx context.Context, epoch uint64) error {
	return n.ok(ctx, command("CLUSTER", "SET-CONFIG-EPOCH", strconv.FormatUint(epoch, 10)))
}

// BumpEpoch gives the server the highest config epoch of the cluster, so that its claims on slots win. It does nothing
// where the server has the highest one alone.
func (n *Node) BumpEpoch(ctx context.Context) error {
	return n.ok(ctx, command("CLUSTER", "BUMPEPOCH"))
}

// Failover starts to make a replica the primary of its shard. It returns before that has happened, and also where it will
// not: with FailoverForce, primaries only vote for a node that they know as a replica of that shard. Valkey 8.0 does not
// ask for votes again before 4 node timeouts have passed, however often it is told to.
func (n *Node) Failover(ctx context.Context, mode FailoverMode) error {
	args := []string{"CLUSTER", "FAILOVER"}
	if mode != FailoverDefault {
		args = append(args, string(mode))
	}
	return n.ok(ctx, command(args...))
}

// Reset makes the server forget all others and its slots; a replica loses its data. With hard it gets a new id and epoch 0.
// A primary with keys refuses: see IsNotEmpty.
func (n *Node) Reset(ctx context.Context, hard bool) error {
	mode := "SOFT"
	if hard {
		mode = "HARD"
	}
	return n.ok(ctx, command("CLUSTER", "RESET", mode))
}

// SetSlotImporting marks a slot as coming from a source node. It is sent to the target, before SetSlotMigrating.
func (n *Node) SetSlotImporting(ctx context.Context, slot int, sourceID string) error {
	return n.setSlot(ctx, slot, "IMPORTING", sourceID)
}

// SetSlotMigrating marks a slot as going to a target node. It is sent to the source.
func (n *Node) SetSlotMigrating(ctx context.Context, slot int, targetID string) error {
	return n.setSlot(ctx, slot, "MIGRATING", targetID)
}

// SetSlotNode says who owns a slot and clears its marks. It is sent to the target first, then to the source, then to the
// other primaries.
func (n *Node) SetSlotNode(ctx context.Context, slot int, ownerID string) error {
	return n.setSlot(ctx, slot, "NODE", ownerID)
}

// SetSlotStable clears the marks of a slot without changing its owner.
func (n *Node) SetSlotStable(ctx context.Context, slot int) error {
	return n.setSlot(ctx, slot, "STABLE")
}

// setSlot replicates to the server's replicas before it succeeds, so that a failover in the middle does not lose the mark.
// See IsNoReplicas.
func (n *Node) setSlot(ctx context.Context, slot int, args ...string) error {
	args = append([]string{"CLUSTER", "SETSLOT", strconv.Itoa(slot)}, args...)
	args = append(args, "TIMEOUT", milliseconds(setSlotTimeout))
	c := command(args...)
	c.wait = setSlotTimeout
	return n.ok(ctx, c)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
