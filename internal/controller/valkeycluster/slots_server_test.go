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

package valkeycluster

import (
	"strings"
	"testing"
	"time"

	vk "github.com/valkey-io/valkey-go"

	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// ask sends a command to a member as a client does that does not follow redirects.
func (r *rig) ask(name string, args ...string) (string, error) {
	r.Helper()
	c, err := vk.NewClient(vk.ClientOption{InitAddress: []string{r.servers[name].Addr}, ForceSingleClient: true, DisableCache: true})
	must(r.T, err)
	defer c.Close()
	return c.Do(r.Context(), c.B().Arbitrary(args...).Build()).ToString()
}

// do sends a command to a member that must work.
func (r *rig) do(name string, args ...string) string {
	r.Helper()
	out, err := r.ask(name, args...)
	if err != nil && !vk.IsValkeyNil(err) {
		r.Fatalf("%v on %s: %v", args, name, err)
	}
	return out
}

// library has a function that answers 42.
const library = "#!lua name=lib\nserver.register_function{function_name='answer', callback=function() return '42' end, flags={'no-writes'}}"

// Slots move with keys of every type, and a new shard can do what the others can.
func TestSlotsMoveWithEverything(t *testing.T) {
	onVersions(t, []string{"8.1", "9.1"}, func(t *testing.T, v string) {
		r := newRig(t, v, 2, 1)
		d := r.fill(2 * valkey.SlotCount)
		for _, slot := range []int{0, valkey.SlotCount - 1} {
			r.do(r.primary(slot), "FUNCTION", "LOAD", library)
		}
		old := r.ids()
		r.scale(3, 1)
		r.converge()
		r.intact(d)
		for name := range r.pods {
			if got, err := r.ask(name, "FCALL_RO", "answer", "0"); err != nil || got != "42" {
				t.Errorf("%s (new: %t) calls a function of the cluster: got %q, %v", name, !contains(old, r.id(name)), got, err)
			}
		}
	})
}

func contains(all []string, one string) bool { return strings.Contains(strings.Join(all, " "), one) }

// A migration that fails is told with what both ends say of it, and is not tried again
// at once. With users of its own it works.
func TestFailedMigrationIsTold(t *testing.T) {
	r := newRig(t, "9.1", 1, 0, func(r *rig) {
		// What others document for the user that migrates: it may not write.
		lines := strings.Split(r.users, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "user "+acl.ReplUser+" ") {
				head, _, _ := strings.Cut(l, " +")
				lines[i] = head + " +psync +replconf +ping +cluster|syncslots"
			}
		}
		r.users, r.frozen = strings.Join(lines, "\n"), true
	})
	// Slots without keys would move all the same.
	d := r.fill(valkey.SlotCount)
	r.scale(2, 0)
	r.until("the failure to be told", func(topology.Plan) bool {
		return r.heard("the last migration from", "Connection lost", "Failed to process command")
	})
	begun := 0
	for _, a := range r.passes(3 * time.Second) {
		if _, ok := a.(topology.MigrateSlots); ok {
			begun++
		}
	}
	if begun > 1 {
		t.Errorf("a migration that failed was begun %d times in 3 s", begun)
	}
	r.intact(d)
	r.frozen = false
	r.converge()
	r.intact(d)
}

// A slot that somebody or a crash left open is moved or closed, whichever of the two
// ends has a mark, and whether keys have moved or not.
func TestOpenSlotsAreMended(t *testing.T) {
	onVersions(t, []string{"8.0", "8.1", "9.1"}, func(t *testing.T, v string) {
		r := newRig(t, v, 3, 1)
		d := r.fill(2 * valkey.SlotCount)
		source, target := r.primary(0), r.primary(valkey.SlotCount-1)
		from, to := r.servers[source].Node(), r.servers[target].Node()
		ctx := t.Context()
		// Both ends, none of its keys has moved.
		must(t, to.SetSlotImporting(ctx, 1, r.id(source)))
		must(t, from.SetSlotMigrating(ctx, 1, r.id(target)))
		// Both ends, one of its keys has moved.
		must(t, to.SetSlotImporting(ctx, 2, r.id(source)))
		must(t, from.SetSlotMigrating(ctx, 2, r.id(target)))
		keys, err := from.GetKeysInSlot(ctx, 2, 1)
		must(t, err)
		must(t, from.Migrate(ctx, valkey.MigrateRequest{
			IP: r.servers[target].IP, Port: 6379, Timeout: time.Second, Keys: keys,
			Credentials: valkey.Credentials{Username: acl.ReplUser, Password: r.conf["primaryauth"]},
		}))
		// One end only.
		must(t, from.SetSlotMigrating(ctx, 3, r.id(target)))
		must(t, to.SetSlotImporting(ctx, 4, r.id(source)))
		// The source thinks of a target that is only a replica, and the other way round.
		must(t, to.SetSlotImporting(ctx, 5000, r.id(r.primary(5000))))
		r.converge()
		r.intact(d)
		for name := range r.pods {
			st, err := r.servers[name].Node().State(ctx)
			must(t, err)
			if me := st.Myself(); len(me.Migrating)+len(me.Importing) > 0 {
				t.Errorf("%s still has open slots: migrating %v, importing %v", name, me.Migrating, me.Importing)
			}
		}
		for _, slot := range []int{1, 2, 3, 4, 5000} {
			if n, err := r.servers[r.primary(slot)].Node().CountKeysInSlot(ctx, slot); err != nil || n != 2 {
				t.Errorf("the owner of slot %d has %d of its 2 keys: %v", slot, n, err)
			}
		}
	})
}

// Slots are given to a member that believes them to be somebody else's.
func TestBusySlotsAreTaken(t *testing.T) {
	onVersions(t, []string{"8.0", "9.1"}, func(t *testing.T, v string) {
		r := newRig(t, v, 2, 0)
		first, last := r.primary(0), r.primary(valkey.SlotCount-1)
		add := topology.AddSlots{Node: last, Ranges: []topology.SlotRange{{Start: 0, End: 9}}}
		r.look()
		if err := r.e.command(t.Context(), r.c, add); !valkey.IsSlotBusy(err) {
			t.Errorf("assigning slots that look taken: got error %v", err)
		}
		must(t, r.servers[first].Node().DelSlots(t.Context(), []valkey.SlotRange{{Start: 0, End: 9}}))
		add.Take = true
		must(t, r.e.command(t.Context(), r.c, add))
		if got := r.primary(0); got != last {
			t.Errorf("slot 0 is held by %s instead of %s", got, last)
		}
		r.converge()
	})
}

// Replicas sync with the shipped users also over two connections at once.
func TestDualChannelReplication(t *testing.T) {
	onVersions(t, []string{"8.0", "8.1", "9.1"}, func(t *testing.T, v string) {
		r := newRig(t, v, 1, 0, setting("dual-channel-replication-enabled", "yes"), setting("repl-diskless-sync", "yes"))
		d := r.fill(5000)
		r.scale(1, 1)
		r.converge()
		primary := r.primary(0)
		for name := range r.pods {
			if log := r.servers[name].Log(); name != primary && !strings.Contains(log, "initialize RDB channel") {
				t.Errorf("%s did not sync over two channels:\n%s", name, log)
			}
		}
		r.kill(primary)
		r.converge()
		r.intact(d)
	})
}
