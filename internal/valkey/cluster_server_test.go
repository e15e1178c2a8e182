//go:build server

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

package valkey_test

import (
	"testing"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

func TestServerMembership(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		o := valkeyserver.Options{Conf: map[string]string{"cluster-node-timeout": "1000"}}
		a, b, c := valkeyserver.Start(t, version, o), valkeyserver.Start(t, version, o), valkeyserver.Start(t, version, o)
		idA, idB, idC := state(t, a).ID, state(t, b).ID, state(t, c).ID
		all := []valkey.SlotRange{{Start: 0, End: 99}, {Start: 100, End: valkey.SlotCount - 1}}

		must(t, a.Node().SetConfigEpoch(ctx, 7))
		want(t, a.Node().SetConfigEpoch(ctx, 8), valkey.IsEpochSet, a.Addr)
		want(t, b.Node().Replicate(ctx, idA), valkey.IsUnknownNode, b.Addr)

		must(t, a.Node().AddSlots(ctx, all))
		want(t, a.Node().AddSlots(ctx, all[:1]), valkey.IsSlotBusy, a.Addr)
		must(t, a.Node().DelSlots(ctx, all[:1]))
		want(t, a.Node().DelSlots(ctx, all[:1]), valkey.IsSlotUnassigned, a.Addr)
		must(t, a.Node().AddSlots(ctx, all[:1]))

		must(t, a.Node().Meet(ctx, b.IP, valkeyserver.Port))
		must(t, a.Node().Meet(ctx, c.IP, valkeyserver.Port))
		for _, s := range []*valkeyserver.Server{a, b, c} {
			awaitState(t, s, "all to know each other", func(st *valkey.State) bool {
				return st.ClusterOK && st.Node(idA) != nil && st.Node(idB) != nil && st.Node(idC) != nil
			})
		}
		want(t, b.Node().SetConfigEpoch(ctx, 3), valkey.IsKnowsOthers, b.Addr)
		must(t, c.Node().BumpEpoch(ctx))

		want(t, b.Node().Failover(ctx, valkey.FailoverDefault), valkey.IsNotReplica, b.Addr)
		must(t, b.Node().Replicate(ctx, idA))
		awaitState(t, b, "the replica to be in sync", func(st *valkey.State) bool { return st.Replication.LinkUp })
		awaitState(t, c, "the news of the replica", func(st *valkey.State) bool { return st.Node(idB).PrimaryID == idA })
		want(t, c.Node().Replicate(ctx, idB), valkey.IsNotPrimary, c.Addr)
		want(t, a.Node().Replicate(ctx, idC), valkey.IsNotEmpty, a.Addr)

		want(t, b.Node().Forget(ctx, idA), valkey.IsForgetMyMaster, b.Addr)
		want(t, a.Node().Forget(ctx, idA), valkey.IsForgetMyself, a.Addr)
		open(t, a).do(t, "SET", "k", "v")
		want(t, a.Node().Reset(ctx, true), valkey.IsNotEmpty, a.Addr)
		must(t, c.Node().Reset(ctx, true))
		if got := state(t, c); got.ID == idC || len(got.Nodes) != 1 {
			t.Errorf("after a hard reset: %+v", got)
		}
		must(t, a.Node().Forget(ctx, idC))
		must(t, a.Node().Forget(ctx, idC))
		must(t, b.Node().Forget(ctx, idC))
		want(t, a.Node().Forget(ctx, "0123456789012345678901234567890123456789"), valkey.IsUnknownNode, a.Addr)

		must(t, b.Node().Reset(ctx, false))
		if got := state(t, b); got.ID != idB || got.Replication.Role != valkey.RolePrimary || got.Keys != 0 {
			t.Errorf("after a soft reset: %+v", got)
		}
	})
}

func TestServerFailover(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		c := valkeyserver.StartCluster(t, version, 3, 1, valkeyserver.Options{})
		promoted := func(s *valkeyserver.Server) {
			t.Helper()
			awaitState(t, s, "the replica to be primary", func(st *valkey.State) bool {
				return st.Replication.Role == valkey.RolePrimary && valkey.CountSlots(st.Myself().Slots) > 0
			})
		}
		for i, mode := range []valkey.FailoverMode{valkey.FailoverDefault, valkey.FailoverForce, valkey.FailoverTakeover} {
			s := c.Replicas[i][0]
			must(t, s.Node().Failover(ctx, mode))
			promoted(s)
		}
		for i, p := range c.Primaries {
			awaitState(t, p, "the old primary to follow", func(st *valkey.State) bool {
				return st.Replication.LinkUp && st.Myself().PrimaryID == c.IDs[c.Replicas[i][0]]
			})
		}
		// Back, without the primary. The others must know that it is a replica, or they do not vote for it.
		c.AwaitAgreement(t)
		c.Replicas[0][0].Kill()
		awaitState(t, c.Primaries[0], "the link to break", func(st *valkey.State) bool { return !st.Replication.LinkUp })
		want(t, c.Primaries[0].Node().Failover(ctx, valkey.FailoverDefault), valkey.IsPrimaryDown, c.Primaries[0].Addr)
		must(t, c.Primaries[0].Node().Failover(ctx, valkey.FailoverForce))
		promoted(c.Primaries[0])
	})
}

func TestServerShutdown(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		c := valkeyserver.StartCluster(t, version, 3, 1, valkeyserver.Options{})
		failover := hasMigrations(version)
		err := c.Primaries[0].Node().Shutdown(ctx, true)
		if failover {
			must(t, err)
			<-c.Primaries[0].Done()
			awaitState(t, c.Replicas[0][0], "the replica to take over", func(st *valkey.State) bool { return st.Replication.Role == valkey.RolePrimary })
		} else if err == nil {
			t.Error("a version without shutdown failover took it")
		}
		must(t, c.Primaries[1].Node().Shutdown(ctx, false))
		<-c.Primaries[1].Done()
		want(t, c.Primaries[1].Node().Shutdown(ctx, false), valkey.IsRefused, c.Primaries[1].Addr)
	})
}
