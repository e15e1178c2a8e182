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
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// Slots that move at the same time end where they belong, with all their keys, and
// every server learns it.
func TestMoverMovesSlots(t *testing.T) {
	const keys, slots = 3000, 300
	for _, v := range []string{"8.0", "8.1"} {
		t.Run(v, func(t *testing.T) {
			c := valkeyserver.StartCluster(t, v, 3, 1, valkeyserver.Options{})
			from, to := c.Primaries[0], c.Primaries[1]
			client, err := witness.NewClient(witness.Options{Addrs: []string{from.Addr}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			data := witness.NewDataset(client, "data:", keys)
			if err := data.Fill(t.Context()); err != nil {
				t.Fatal(err)
			}
			took := map[int]time.Duration{}
			for i, atOnce := range []int{1, slotsAtOnce} {
				m := mover{
					plan:   topology.MoveSlots{FromID: c.IDs[from], ToID: c.IDs[to]},
					from:   from.Node(),
					to:     to.Node(),
					others: []*valkey.Node{c.Primaries[2].Node()},
					req:    valkey.MigrateRequest{IP: to.IP, Port: valkeyserver.Port, Replace: true},
					atOnce: atOnce, disturbed: func() bool { return false },
				}
				for s := range slots {
					m.plan.Slots = append(m.plan.Slots, i*slots+s)
				}
				begin := time.Now()
				if err := m.moveAll(t.Context(), begin.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				took[atOnce] = time.Since(begin)
			}
			c.AwaitAgreement(t)
			st, err := to.Node().State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := valkey.SlotCount/3 + 2*slots; valkey.CountSlots(st.Myself().Slots) < want {
				t.Errorf("the target has %d slots, want at least %d", valkey.CountSlots(st.Myself().Slots), want)
			}
			if bad, err := data.Verify(t.Context()); err != nil {
				t.Errorf("%d keys are lost or wrong: %v", bad, err)
			}
			t.Logf("%d slots, by how many at once: %v", slots, took)
		})
	}
}
