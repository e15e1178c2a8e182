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
	"fmt"
	"net"
	"strconv"
	"time"
)

// pipelineLength bounds one pipeline. From 2,000 commands on valkey-go uses a connection of its own.
const pipelineLength = 1000

// GetKeysInSlot returns up to count keys of a slot.
func (n *Node) GetKeysInSlot(ctx context.Context, slot, count int) ([]string, error) {
	return n.list(ctx, command("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(slot), strconv.Itoa(count)))
}

// CountKeysInSlot returns how many keys of a slot the server holds.
func (n *Node) CountKeysInSlot(ctx context.Context, slot int) (int64, error) {
	return n.number(ctx, command("CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(slot)))
}

// CountKeys returns how many keys of each of the slots the server holds, in the order of the slots. It asks for many slots
// at a time.
func (n *Node) CountKeys(ctx context.Context, slots ...int) ([]int64, error) {
	out := make([]int64, 0, len(slots))
	for start := 0; start < len(slots); start += pipelineLength {
		part := slots[start:min(start+pipelineLength, len(slots))]
		commands := make([][]string, len(part))
		for i, s := range part {
			commands[i] = []string{"CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(s)}
		}
		c := call{what: fmt.Sprintf("CLUSTER COUNTKEYSINSLOT of %d slots", len(part))}
		ms, err := n.many(ctx, c, commands)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			k, err := m.AsInt64()
			if err != nil {
				return nil, n.wrap(c, err)
			}
			out = append(out, k)
		}
	}
	return out, nil
}

// A MigrateRequest moves keys to another server.
type MigrateRequest struct {
	// IP and Port are where the target listens.
	IP   string
	Port int
	// Keys are the keys to move. Keys that do not exist any more are passed over.
	Keys []string
	// Timeout is how long the two servers may not hear of each other. It is not a limit for the whole transfer. The default is 5 s.
	Timeout time.Duration
	// Replace overwrites keys that the target already has.
	Replace bool
	// Credentials are those of a user on the target that may SELECT and RESTORE-ASKING all keys. Empty means no authentication.
	Credentials Credentials
}

// Migrate moves keys to another server. The source does nothing else meanwhile, so a request should hold few keys, or
// small ones: 100 is a good number. Keys that were not moved are still in the source: see IsIOErr.
func (n *Node) Migrate(ctx context.Context, r MigrateRequest) error {
	if len(r.Keys) == 0 {
		return nil
	}
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = 5 * time.Second
	}
	args := []string{"MIGRATE", r.IP, strconv.Itoa(r.Port), "", "0", milliseconds(timeout)}
	if r.Replace {
		args = append(args, "REPLACE")
	}
	switch {
	case r.Credentials.Username != "":
		args = append(args, "AUTH2", r.Credentials.Username, r.Credentials.Password)
	case r.Credentials.Password != "":
		args = append(args, "AUTH", r.Credentials.Password)
	}
	args = append(append(args, "KEYS"), r.Keys...)
	c := call{
		args:    args,
		what:    fmt.Sprintf("MIGRATE of %d keys to %s", len(r.Keys), net.JoinHostPort(r.IP, strconv.Itoa(r.Port))),
		secrets: []string{r.Credentials.Password},
		// The source tries a broken connection to the target a second time.
		wait: 2 * timeout,
	}
	return n.ok(ctx, c)
}
