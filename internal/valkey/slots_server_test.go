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
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// slot is that of all keys with the tag {06S}, owned by the first primary.
const slot = 0

// writes are commands that make one key of each type, reads how to see it.
var (
	writes = [][]string{
		{"SET", "{06S}string", "v"},
		{"SET", "{06S}expiring", "v", "EX", "10000"},
		{"HSET", "{06S}hash", "f", "v"},
		{"RPUSH", "{06S}list", "a", "b"},
		{"SADD", "{06S}set", "m"},
		{"ZADD", "{06S}zset", "1.5", "m"},
		{"XADD", "{06S}stream", "1-1", "f", "v"},
		{"SET", "{06S} \r\n\x00binary", "v"},
	}
	reads = [][]string{
		{"GET", "{06S}string"},
		{"EXPIRETIME", "{06S}expiring"},
		{"HGETALL", "{06S}hash"},
		{"LRANGE", "{06S}list", "0", "-1"},
		{"SMEMBERS", "{06S}set"},
		{"ZRANGE", "{06S}zset", "0", "-1", "WITHSCORES"},
		{"XRANGE", "{06S}stream", "-", "+"},
		{"GET", "{06S} \r\n\x00binary"},
	}
)

func readAll(t *testing.T, d data) []any {
	t.Helper()
	out := make([]any, len(reads))
	for i, args := range reads {
		out[i] = d.do(t, args...)
	}
	return out
}

func TestServerClassicMigration(t *testing.T) {
	const acl = "user default on nopass ~* &* +@all\nuser mover on >secret ~* &* -@all +select +restore-asking\n"
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		c := valkeyserver.StartCluster(t, version, 3, 1, valkeyserver.Options{ACL: acl})
		src, dst := c.Primaries[0], c.Primaries[1]
		from, to := src.Node(), dst.Node()
		for _, args := range writes {
			open(t, src).do(t, args...)
		}
		before := readAll(t, open(t, src))
		n, err := from.CountKeysInSlot(ctx, slot)
		must(t, err)
		counts, err := from.CountKeys(ctx, slot, slot+1)
		must(t, err)
		if diff := cmp.Diff([]int64{n, 0}, counts); diff != "" || n != int64(len(writes)) {
			t.Errorf("CountKeysInSlot %d, CountKeys: %s", n, diff)
		}

		want(t, to.SetSlotImporting(ctx, slot, "0123456789012345678901234567890123456789"), valkey.IsUnknownNode, dst.Addr)
		must(t, to.SetSlotImporting(ctx, slot, c.IDs[src]))
		must(t, from.SetSlotMigrating(ctx, slot, c.IDs[dst]))
		if got := state(t, src).Myself().Migrating; got[slot] != c.IDs[dst] {
			t.Errorf("Migrating: %v", got)
		}
		if got := state(t, dst).Myself().Importing; got[slot] != c.IDs[src] {
			t.Errorf("Importing: %v", got)
		}

		// The marks can be taken back and set again.
		must(t, from.SetSlotStable(ctx, slot))
		must(t, from.SetSlotMigrating(ctx, slot, c.IDs[dst]))

		r := valkey.MigrateRequest{IP: dst.IP, Port: valkeyserver.Port, Replace: true, Keys: []string{"{06S}gone"}, Credentials: valkey.Credentials{Username: "mover", Password: "secret"}}
		must(t, from.Migrate(ctx, r))
		must(t, from.Migrate(ctx, valkey.MigrateRequest{}))
		wrong := r
		wrong.Keys = []string{"{06S}string"}
		wrong.Credentials.Password = "wrong"
		if err := from.Migrate(ctx, wrong); err == nil {
			t.Error("Migrate(...) with a wrong password succeeded")
		} else {
			t.Logf("wrong password: %v", err)
		}
		dead := wrong
		dead.Port = valkeyserver.Port + 1
		want(t, from.Migrate(ctx, dead), valkey.IsIOErr, src.Addr)
		for {
			if r.Keys, err = from.GetKeysInSlot(ctx, slot, 3); err != nil {
				t.Fatal(err)
			}
			if len(r.Keys) == 0 {
				break
			}
			must(t, from.Migrate(ctx, r))
		}
		must(t, to.SetSlotNode(ctx, slot, c.IDs[dst]))
		must(t, from.SetSlotNode(ctx, slot, c.IDs[dst]))
		must(t, c.Primaries[2].Node().SetSlotNode(ctx, slot, c.IDs[dst]))

		if diff := cmp.Diff(before, readAll(t, open(t, dst))); diff != "" {
			t.Errorf("the keys have changed: -before, +after:\n%s", diff)
		}
		for _, s := range c.Primaries {
			st := state(t, s)
			if got := st.Node(c.IDs[dst]); len(got.Slots) == 0 || got.Slots[0] != (valkey.SlotRange{Start: slot, End: slot}) {
				t.Errorf("the target's slots in the view of %s: %v", s.Addr, got.Slots)
			}
			if me := st.Myself(); me.Migrating != nil || me.Importing != nil {
				t.Errorf("open slots on %s: %+v", s.Addr, me)
			}
		}
		// With the replica stopped, a mark would not survive a failover: it is refused.
		c.Replicas[2][0].Pause()
		want(t, c.Primaries[2].Node().SetSlotMigrating(ctx, valkey.SlotCount-1, c.IDs[dst]), valkey.IsNoReplicas, c.Primaries[2].Addr)
		c.Replicas[2][0].Resume()
	})
}

func TestServerCountKeysOfAllSlots(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := valkeyserver.Start(t, version, valkeyserver.Options{})
		must(t, s.Node().AddSlots(t.Context(), []valkey.SlotRange{{Start: 0, End: valkey.SlotCount - 1}}))
		awaitState(t, s, "a cluster of one", func(st *valkey.State) bool { return st.ClusterOK })
		d := open(t, s)
		for i := range 100 {
			d.do(t, "SET", fmt.Sprint(i), "v")
		}
		slots := make([]int, valkey.SlotCount)
		for i := range slots {
			slots[i] = i
		}
		counts, err := s.Node().CountKeys(t.Context(), slots...)
		must(t, err)
		sum := int64(0)
		for _, n := range counts {
			sum += n
		}
		if len(counts) != valkey.SlotCount || sum != 100 {
			t.Errorf("CountKeys(...): %d keys in %d slots", sum, len(counts))
		}
	})
}

func TestServerAtomicMigration(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		c := valkeyserver.StartCluster(t, version, 3, 1, valkeyserver.Options{})
		src, dst := c.Primaries[0], c.Primaries[1]
		move := valkey.SlotMove{Ranges: []valkey.SlotRange{{Start: slot, End: 10}, {Start: 20, End: 20}}, TargetID: c.IDs[dst]}
		if !hasMigrations(version) {
			want(t, src.Node().MigrateSlots(ctx, move), valkey.IsUnknownCommand, src.Addr)
			want(t, src.Node().CancelMigrations(ctx), valkey.IsUnknownCommand, src.Addr)
			_, err := src.Node().Migrations(ctx)
			want(t, err, valkey.IsUnknownCommand, src.Addr)
			return
		}
		for _, args := range writes {
			open(t, src).do(t, args...)
		}
		before := readAll(t, open(t, src))
		want(t, src.Node().CancelMigrations(ctx), valkey.IsNoMigrations, src.Addr)
		want(t, c.Replicas[0][0].Node().MigrateSlots(ctx, move), valkey.IsNotPrimary, c.Replicas[0][0].Addr)

		// Two jobs in one command, to different targets.
		other := valkey.SlotMove{Ranges: []valkey.SlotRange{{Start: 30, End: 30}}, TargetID: c.IDs[c.Primaries[2]]}
		must(t, src.Node().MigrateSlots(ctx, move, other))
		awaitState(t, src, "the slots to move", func(st *valkey.State) bool {
			return len(st.Migrations) == 2 && st.Migrations[0].Done() && st.Migrations[1].Done()
		})
		for _, m := range state(t, src).Migrations {
			if m.Operation != valkey.MigrationExport || m.SourceID != c.IDs[src] || m.Name == "" || m.CreateTime.IsZero() || m.LastUpdate.IsZero() {
				t.Errorf("on the source: %+v", m)
			}
		}
		// The target learns of the end a moment later.
		awaitState(t, dst, "the target to know", func(st *valkey.State) bool {
			return len(st.Migrations) == 1 && st.Migrations[0].Done() && st.Migrations[0].Operation == valkey.MigrationImport &&
				cmp.Equal(st.Migrations[0].Ranges, move.Ranges)
		})
		if diff := cmp.Diff(before, readAll(t, open(t, dst))); diff != "" {
			t.Errorf("the keys have changed: -before, +after:\n%s", diff)
		}

		// A replica as the target is only refused by the job.
		bad := valkey.SlotMove{Ranges: []valkey.SlotRange{{Start: 40, End: 41}}, TargetID: c.IDs[c.Replicas[1][0]]}
		must(t, src.Node().MigrateSlots(ctx, bad))
		awaitState(t, src, "the job to fail", func(st *valkey.State) bool { return st.Migrations[0].Failed() })
		ms, err := src.Node().Migrations(ctx)
		must(t, err)
		if ms[0].Message == "" || ms[0].State != "failed" {
			t.Errorf("the failed job: %+v", ms[0])
		}
		t.Logf("to a replica: %s", ms[0].Message)

		// A stopped target leaves the job under way, to be cancelled.
		dst.Pause()
		stuck := valkey.SlotMove{Ranges: []valkey.SlotRange{{Start: 50, End: 50}}, TargetID: c.IDs[dst]}
		must(t, src.Node().MigrateSlots(ctx, stuck))
		if got := state(t, src).Migrations[0]; !got.Active() {
			t.Errorf("a job to a stopped server: %+v", got)
		}
		want(t, src.Node().MigrateSlots(ctx, stuck), valkey.IsMigrating, src.Addr)
		must(t, src.Node().CancelMigrations(ctx))
		if got := state(t, src).Migrations[0]; !got.Failed() || got.State != "cancelled" {
			t.Errorf("a cancelled job: %+v", got)
		}
		dst.Resume()
	})
}
