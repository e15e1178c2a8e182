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
	"strings"
	"time"
)

// The operations of a Migration: a job is an EXPORT on the node that gives slots away and an IMPORT on the one that takes them.
const (
	MigrationExport = "EXPORT"
	MigrationImport = "IMPORT"
)

// The states in which a Migration ends. Before that there are about ten others, which differ between versions.
const (
	migrationSuccess   = "success"
	migrationFailed    = "failed"
	migrationCancelled = "cancelled"
)

// A Migration is an atomic slot migration job (Valkey 9.0 and newer) as one of its two ends reports it.
type Migration struct {
	// Name is the random id of the job, the same on both ends.
	Name string
	// Operation is MigrationExport on the source and MigrationImport on the target.
	Operation string
	// Ranges are the slots that move.
	Ranges []SlotRange
	// SourceID and TargetID are the node ids of the two ends.
	SourceID, TargetID string
	// State is the server's word for how far the job is.
	State string
	// Message says why the job failed, empty otherwise.
	Message string
	// CreateTime and LastUpdate are when the job was made and changed its state last, by the clock of the server, to the second.
	CreateTime, LastUpdate time.Time
	// RemainingBytes is how much of the replication stream is still to be sent, in bytes. Only the source knows it.
	RemainingBytes int64
}

// Done reports whether the slots have moved.
func (m Migration) Done() bool { return m.State == migrationSuccess }

// Failed reports whether the job ended without moving the slots. Nothing needs to be cleaned up: the source still has them.
func (m Migration) Failed() bool {
	return m.State == migrationFailed || m.State == migrationCancelled
}

// Active reports whether the job is still under way.
func (m Migration) Active() bool { return !m.Done() && !m.Failed() }

// ParseSlotMigrations parses the reply of CLUSTER GETSLOTMIGRATIONS as generic values: a list with, for each job, a map
// (RESP3) or a flat list of names and values (RESP2). Fields that it does not know are ignored.
func ParseSlotMigrations(reply any) ([]Migration, error) {
	if reply == nil {
		return nil, nil
	}
	jobs, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("%w to CLUSTER GETSLOTMIGRATIONS: %T", errBroken, reply)
	}
	var out []Migration
	for _, job := range jobs {
		m, err := parseMigration(job)
		if err != nil {
			return nil, fmt.Errorf("%w to CLUSTER GETSLOTMIGRATIONS: %w", errBroken, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func parseMigration(job any) (Migration, error) {
	values, err := anyMap(job)
	if err != nil {
		return Migration{}, err
	}
	v := make(map[string]string, len(values))
	for name, value := range values {
		v[name] = toString(value)
	}
	ranges, err := ParseSlotRanges(v["slot_ranges"])
	if err != nil {
		return Migration{}, err
	}
	f := fields{m: v}
	m := Migration{
		Name:           v["name"],
		Operation:      strings.ToUpper(v["operation"]),
		Ranges:         ranges,
		SourceID:       v["source_node"],
		TargetID:       v["target_node"],
		State:          v["state"],
		Message:        v["message"],
		CreateTime:     f.time("create_time"),
		LastUpdate:     f.time("last_update_time"),
		RemainingBytes: f.int("remaining_repl_size"),
	}
	return m, f.err
}

// time reads a Unix time in seconds; 0 is the zero time.
func (f *fields) time(name string) time.Time {
	if n := f.int(name); n != 0 {
		return time.Unix(n, 0)
	}
	return time.Time{}
}

// A SlotMove is one job of MigrateSlots.
type SlotMove struct {
	// Ranges are the slots that move. Jobs of more than about 50,000 keys stall clients for longer than half a second.
	Ranges []SlotRange
	// TargetID is the node id of the primary that takes them.
	TargetID string
}

// MigrateSlots starts atomic slot migrations (Valkey 9.0 and newer) from this server, one job for each move. The jobs run
// in the background: their outcome is in State's Migrations, here and on the targets. A target that is a replica, too old,
// or refuses us is reported there and not here.
func (n *Node) MigrateSlots(ctx context.Context, moves ...SlotMove) error {
	args := []string{"CLUSTER", "MIGRATESLOTS"}
	for _, m := range moves {
		args = append(args, "SLOTSRANGE")
		args = append(args, rangeArgs(m.Ranges)...)
		args = append(args, "NODE", m.TargetID)
	}
	return n.ok(ctx, command(args...))
}

// CancelMigrations cancels all slot migrations of this server (Valkey 9.0 and newer). See IsNoMigrations.
func (n *Node) CancelMigrations(ctx context.Context) error {
	// HELP mentions an argument ALL, which 9.1 refuses.
	return n.ok(ctx, command("CLUSTER", "CANCELSLOTMIGRATIONS"))
}

// Migrations returns the slot migrations that the server remembers, newest first (Valkey 9.0 and newer).
func (n *Node) Migrations(ctx context.Context) ([]Migration, error) {
	c := command("CLUSTER", "GETSLOTMIGRATIONS")
	m, err := n.one(ctx, c)
	if err != nil {
		return nil, err
	}
	v, err := m.ToAny()
	if err != nil {
		return nil, n.wrap(c, translate(err, nil))
	}
	out, err := ParseSlotMigrations(v)
	return out, n.wrap(c, err)
}
