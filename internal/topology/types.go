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

// Package topology decides what to do next with a Valkey cluster. It is pure:
// a Snapshot of what was observed and a Goal go in, a Plan comes out. It knows
// no Kubernetes, no network and no clock, so that it can be run against a
// simulated cluster for millions of steps.
package topology

import (
	"time"
)

// A Goal is the topology that a cluster should have.
type Goal struct {
	// Shards is the wanted number of shards, at least 1.
	Shards int
	// Replicas is the wanted number of replicas of each primary.
	Replicas int
	// Template identifies what a member made now would look like. It only seeds
	// the names of new members.
	Template string
	// NodeTimeout is the cluster-node-timeout that members must have once the
	// cluster is formed.
	NodeTimeout time.Duration
	// SyncDelay is the repl-diskless-sync-delay that members must have once the
	// cluster is formed.
	SyncDelay time.Duration
	// NewName returns the name of the kth new member of a shard, which must be
	// the same for the same arguments and the same snapshot.
	NewName func(shard, k int) string
}

// A Phase is the phase of a member's life as the API records it.
type Phase string

// Phases of a member.
const (
	PhaseJoining Phase = "Joining"
	PhaseActive  Phase = "Active"
	PhaseLeaving Phase = "Leaving"
)

// A PodPhase says what is known of the pod of a member.
type PodPhase string

// Pod phases. PodDead means known to be dead from Kubernetes' side: its
// container ended, or the pod is gone after it had existed.
const (
	PodPending PodPhase = "Pending"
	PodRunning PodPhase = "Running"
	PodDead    PodPhase = "Dead"
)

// A Member is one member of the cluster, made by us.
type Member struct {
	// Name of the member and of its pod.
	Name string
	// Shard index of the member.
	Shard int
	// ID is the Valkey node id as it was recorded durably. A member without one
	// is not used yet.
	ID string
	// Phase of the member's life.
	Phase Phase
	// Deleting means that somebody asked for its removal.
	Deleting bool
	// Retired means that it was released: its pod goes, and it must be
	// forgotten.
	Retired bool
	// Outdated says in words in what the member differs from one made now.
	// Empty means up to date.
	Outdated string
	// Pod says what is known of its pod.
	Pod PodPhase
	// PodDeleting means that the pod is being deleted or evicted.
	PodDeleting bool
	// PodAge is the time since the pod was made, or since it died if it is dead.
	PodAge time.Duration
	// PodMessage says why the pod is not running, in words.
	PodMessage string
	// IP of the pod, empty while it has none.
	IP string
	// Host and Zone tell where the pod runs.
	Host string
	Zone string
	// HostLost means that Kubernetes does not hear of the host any more, or that
	// it is gone. Its processes may live on, cut off from us.
	HostLost bool
	// RoleAge is the time for which the member is known to have its role.
	RoleAge time.Duration
	// Refused means that a connection to the process was refused or reset, not
	// that it timed out.
	Refused bool
	// LastWords are the newest lines of the log of a member that does not sync.
	LastWords string
	// Process is what the process answered, nil if it did not answer.
	Process *Process
}

// A Process is what the Valkey process of a member says about itself and about
// the cluster.
type Process struct {
	// ID is the node id that the process has now.
	ID string
	// Version of the server, for example 9.1.2.
	Version string
	// AtomicMigration tells whether the server can migrate slots atomically,
	// which Valkey can since 9.0.
	AtomicMigration bool
	// Primary tells its own role.
	Primary bool
	// ClusterOK is its own cluster_state.
	ClusterOK bool
	// Epoch is its own config epoch.
	Epoch uint64
	// Slots that it claims for itself.
	Slots SlotSet
	// PrimaryID is the node id that a replica replicates.
	PrimaryID string
	// LinkUp and Syncing describe a replica's link to its primary.
	LinkUp  bool
	Syncing bool
	// Offset is the replication offset in bytes.
	Offset int64
	// Keys is the number of keys it holds.
	Keys int64
	// UsedMemory and MaxMemory are in bytes; a MaxMemory of 0 means unlimited.
	UsedMemory int64
	MaxMemory  int64
	// Peers are all other nodes that it knows, by node id.
	Peers map[string]Peer
	// Open are the slots that a classic migration has left open.
	Open []OpenSlot
	// Jobs are the slot migration jobs that the process remembers, newest first.
	Jobs []Job
	// NodeTimeout and SyncDelay are its current cluster-node-timeout and
	// repl-diskless-sync-delay.
	NodeTimeout time.Duration
	SyncDelay   time.Duration
}

// A Peer is how one process sees another one.
type Peer struct {
	IP        string
	Primary   bool
	Fail      bool
	PFail     bool
	Handshake bool
	NoAddr    bool
	LinkUp    bool
	PrimaryID string
	Slots     []SlotRange
}

// usable tells whether the peer is a settled part of the cluster in this view.
func (p Peer) usable() bool { return !p.Fail && !p.PFail && !p.Handshake && !p.NoAddr }

// An OpenSlot is a slot in the middle of a classic migration.
type OpenSlot struct {
	Slot int
	// Migrating is true at the source and false at the target.
	Migrating bool
	// PeerID is the other end.
	PeerID string
}

// A Job is an atomic slot migration job.
type Job struct {
	Export   bool
	Active   bool
	Failed   bool
	SourceID string
	TargetID string
	Ranges   []SlotRange
	Message  string
	// Age is the time since the job was last updated.
	Age time.Duration
}

// A Snapshot is everything that was observed at one moment.
type Snapshot struct {
	Members []Member
}

// A Plan is what to do now. Actions of one plan are independent of each other.
type Plan struct {
	// Actions to carry out now, most important first.
	Actions []Action
	// Formed means that the cluster serves as the goal asks, with the slots of
	// at least one primary assigned.
	Formed bool
	// Serving means that live primaries hold all slots and say that the cluster
	// is healthy, even if members are missing.
	Serving bool
	// Active means that every condition of the state Active holds.
	Active bool
	// Converged means that there is nothing left to do, except what Rest waits for.
	Converged bool
	// Rest is for how much longer the cluster has to stay as it is until its
	// primaries are spread better. It is 0 where that is not to be done, or now.
	Rest time.Duration
	// SlotsToMove is the number of slots that have to move to another shard.
	SlotsToMove int
	// Reason is a CamelCase word and Message a sentence on what the plan works
	// on or waits for.
	Reason  string
	Message string
	// Problems are dangers that need a person, such as foreign nodes.
	Problems []string
}
