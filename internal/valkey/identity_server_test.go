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
	"context"
	"testing"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// A command for one node never reaches another one that has its address.
func TestExpecting(t *testing.T) {
	for _, v := range valkeyserver.Versions() {
		t.Run(v, func(t *testing.T) {
			ctx := context.Background()
			n := valkeyserver.Start(t, v, valkeyserver.Options{}).Node()
			id, err := n.MyID(ctx)
			if err != nil {
				t.Fatal(err)
			}
			all := []valkey.SlotRange{{Start: 0, End: 9}}
			other := "0000000000000000000000000000000000000000"
			if err := n.Expecting(other).AddSlots(ctx, all); !valkey.IsOtherNode(err) || !valkey.IsNotSent(err) {
				t.Errorf("AddSlots for another node: got error %v", err)
			}
			if err := n.Expecting(id).AddSlots(ctx, all); err != nil {
				t.Errorf("AddSlots for the node itself: %v", err)
			}
			// The connection that was checked for the right one is not good for the wrong one.
			if err := n.Expecting(other).DelSlots(ctx, all); !valkey.IsOtherNode(err) {
				t.Errorf("DelSlots for another node: got error %v", err)
			}
			st, err := n.State(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := valkey.CountSlots(st.Myself().Slots); got != 10 {
				t.Errorf("the server has %d slots, want 10", got)
			}
		})
	}
}
