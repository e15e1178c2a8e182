//go:build cluster

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

package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	vk "github.com/valkey-io/valkey-go"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// A claim is a primary's claim to slots, as its servers tell of it.
type claim struct {
	id    string
	epoch uint64
}

// takeovers counts the failovers of a cluster as its servers see them. A greater
// epoch of another owner of the same slots is one; an election that is repeated
// raises the servers' current epoch but is none. It only works where no slots move.
type takeovers struct {
	mu     sync.Mutex
	owner  map[int]claim
	counts map[int]int
	// story tells of each, for who reads of a failed test.
	story []string
}

// watchTakeovers asks a member of the cluster ten times a second, until the test ends.
func watchTakeovers(t *testing.T, c vk.Client) *takeovers {
	t.Helper()
	o := &takeovers{owner: map[int]claim{}, counts: map[int]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			o.ask(ctx, c)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return o
}

func (o *takeovers) ask(ctx context.Context, c vk.Client) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	reply, err := c.Do(ctx, c.B().ClusterNodes().Build()).ToString()
	if err != nil {
		return
	}
	if nodes, err := parseView(reply); err == nil {
		o.note(nodes)
	}
}

// parseView reads CLUSTER NODES as valkey-go 1.0.79 returns it: with a prefix of
// RESP3, which would make another id of the first one.
func parseView(reply string) ([]valkey.PeerNode, error) {
	return valkey.ParseClusterNodes(strings.TrimPrefix(reply, "txt:"))
}

// note takes in one server's view, which may be an old one.
func (o *takeovers) note(view []valkey.PeerNode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range view {
		if !n.Primary || len(n.Slots) == 0 {
			continue
		}
		slot := n.Slots[0].Start
		old, known := o.owner[slot]
		if known && n.ConfigEpoch <= old.epoch {
			continue
		}
		o.owner[slot] = claim{id: n.ID, epoch: n.ConfigEpoch}
		if known && old.id != n.ID {
			o.counts[slot]++
			o.story = append(o.story, fmt.Sprintf("%s: slot %d from %.8s (epoch %d) to %.8s (%d)", time.Now().UTC().Format("15:04:05.000"), slot, old.id, old.epoch, n.ID, n.ConfigEpoch))
		}
	}
}

// of counts the failovers of whoever owns the slots from a slot on.
func (o *takeovers) of(slot int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts[slot]
}

// all tells of all failovers.
func (o *takeovers) all() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.story, "; ")
}

func TestTakeovers(t *testing.T) {
	primary := func(id string, epoch uint64, start int) valkey.PeerNode {
		return valkey.PeerNode{ID: id, Primary: true, ConfigEpoch: epoch, Slots: []valkey.SlotRange{{Start: start, End: start + 10}}}
	}
	o := &takeovers{owner: map[int]claim{}, counts: map[int]int{}}
	o.note([]valkey.PeerNode{primary("a", 1, 0), primary("b", 2, 100)})
	o.note([]valkey.PeerNode{primary("c", 4, 0), primary("b", 2, 100)}) // a failover, at the second try
	o.note([]valkey.PeerNode{primary("a", 1, 0), primary("b", 5, 100)}) // an old view, and a bumped epoch
	o.note([]valkey.PeerNode{primary("a", 6, 0), primary("b", 5, 100)}) // a failover back
	if a, b := o.of(0), o.of(100); a != 2 || b != 0 {
		t.Errorf("got %d and %d failovers, want 2 and 0", a, b)
	}
}

func TestParseView(t *testing.T) {
	got, err := parseView("txt:0a1b 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383\n")
	if err != nil || len(got) != 1 || got[0].ID != "0a1b" {
		t.Errorf("parseView(...): got %v, %v, want one node 0a1b", got, err)
	}
}
