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

package topology

import (
	"fmt"
	"time"
)

// An Action is one safe, idempotent step.
type Action interface {
	// String tells a person what the action does.
	String() string
}

// CreateNode makes a new member in a shard.
type CreateNode struct {
	Name  string
	Shard int
	Why   string
}

// SetPhase records a new phase of a member.
type SetPhase struct {
	Node  string
	Phase Phase
}

// Meet introduces a member to the cluster. To must still have the node id ToID.
type Meet struct {
	From string
	To   string
	ToID string
	ToIP string
}

// AddSlots assigns slots to a primary that nobody owns.
type AddSlots struct {
	Node   string
	Ranges []SlotRange
	// Epoch is the config epoch to set first, 0 for none. It is only valid on a
	// node that knows no other.
	Epoch uint64
	// Bump means that a former owner may come back and claim the slots: Node takes
	// the greatest config epoch first, so that nobody believes it.
	Bump bool
	// Take means that Node believes that some of the slots belong to somebody who
	// does not own them any more: CLUSTER ADDSLOTS would find them busy, so that
	// they have to be dropped from its view with CLUSTER DELSLOTS first.
	Take bool
}

// Replicate makes an empty member a replica.
type Replicate struct {
	Node      string
	Primary   string
	PrimaryID string
}

// A FailoverMode is how much agreement a failover needs.
type FailoverMode string

// Failover modes. Only the default mode loses no acknowledged write; the other
// two are for a primary that is known to be dead.
const (
	FailoverDefault  FailoverMode = "default"
	FailoverForce    FailoverMode = "force"
	FailoverTakeover FailoverMode = "takeover"
)

// Failover promotes a replica.
type Failover struct {
	Node  string
	Mode  FailoverMode
	Shard int
	// Old is the member that was primary, if it is known.
	Old string
	// Balance means that nothing is wrong with the old primary: the primaries are
	// spread better afterwards.
	Balance bool
	Why     string
}

// Forget removes a node id from the view of one member.
type Forget struct {
	Node string
	ID   string
	// Name of the forgotten member, if it is still known.
	Name string
}

// Tune sets the timers of a member.
type Tune struct {
	Node        string
	NodeTimeout time.Duration
	SyncDelay   time.Duration
}

// MigrateSlots moves slots between two primaries as one atomic job.
type MigrateSlots struct {
	From     string
	To       string
	FromID   string
	ToID     string
	Ranges   []SlotRange
	KeysHint int64
}

// MoveSlots moves slots between two primaries key by key, the classic way.
type MoveSlots struct {
	From   string
	To     string
	FromID string
	ToID   string
	Slots  []int
}

// CloseSlot ends the open state of a slot that is not being migrated.
type CloseSlot struct {
	Node string
	Slot int
}

// BumpEpoch gives a primary the greatest config epoch (CLUSTER BUMPEPOCH), so that
// all others believe its claims.
type BumpEpoch struct {
	Node string
}

// Retire releases a member: it leaves the cluster and its pod goes.
type Retire struct {
	Node string
	Why  string
}

func (a CreateNode) String() string {
	return fmt.Sprintf("create member %s in shard %d: %s", a.Name, a.Shard, a.Why)
}

func (a SetPhase) String() string { return fmt.Sprintf("mark member %s %s", a.Node, a.Phase) }

func (a Meet) String() string { return fmt.Sprintf("introduce member %s to the cluster", a.To) }

func (a AddSlots) String() string {
	return fmt.Sprintf("assign slots %s to %s", FormatRanges(a.Ranges), a.Node)
}

func (a Replicate) String() string {
	return fmt.Sprintf("make %s a replica of %s", a.Node, a.Primary)
}

func (a Failover) String() string {
	s := fmt.Sprintf("promote %s to primary of shard %d", a.Node, a.Shard)
	if a.Mode != FailoverDefault {
		s += fmt.Sprintf(" (%s)", a.Mode)
	}
	return s + ": " + a.Why
}

func (a Forget) String() string {
	if a.Name == "" {
		return fmt.Sprintf("make %s forget node %s", a.Node, a.ID)
	}
	return fmt.Sprintf("make %s forget %s", a.Node, a.Name)
}

func (a Tune) String() string {
	return fmt.Sprintf("set timers of %s: node timeout %s, sync delay %s", a.Node, a.NodeTimeout, a.SyncDelay)
}

func (a MigrateSlots) String() string {
	return fmt.Sprintf("migrate slots %s from %s to %s", FormatRanges(a.Ranges), a.From, a.To)
}

func (a MoveSlots) String() string {
	return fmt.Sprintf("move %d slots from %s to %s", len(a.Slots), a.From, a.To)
}

func (a CloseSlot) String() string { return fmt.Sprintf("close slot %d on %s", a.Slot, a.Node) }

func (a BumpEpoch) String() string {
	return fmt.Sprintf("make the claims of %s prevail", a.Node)
}

func (a Retire) String() string { return fmt.Sprintf("retire member %s: %s", a.Node, a.Why) }
