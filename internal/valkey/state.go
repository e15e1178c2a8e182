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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// A State is what one server says about itself and about the cluster.
type State struct {
	// ID is the server's node id.
	ID string
	// Version is the server's version, for example "9.1.2".
	Version string
	// RunID is a random id that differs after every start of the process.
	RunID string
	// Uptime is how long the process has been running, to the second.
	Uptime time.Duration
	// Loading says that the server is loading its data set. It answers about the cluster meanwhile (Valkey 8.0 to 9.1), but
	// not about migrations and keys.
	Loading bool

	// ClusterOK says whether the server serves, in its own opinion (cluster_state:ok).
	ClusterOK bool
	// CurrentEpoch and MyEpoch are the cluster's epoch and that of the server's shard.
	CurrentEpoch, MyEpoch uint64
	// KnownNodes counts all nodes that the server has an entry for, dead ones and itself included.
	KnownNodes int
	// SlotsAssigned counts the slots that have an owner in the server's view.
	SlotsAssigned int
	// Nodes is the server's view of all nodes, itself included.
	Nodes []PeerNode
	// Replication is the server's replication state.
	Replication Replication
	// UsedMemory and MaxMemory are in bytes; a MaxMemory of 0 means no limit.
	UsedMemory, MaxMemory int64
	// Keys counts the keys of all databases.
	Keys int64
	// Stats are what the server has counted since its start. They are nil unless the pool asks for them.
	Stats *Stats
	// Migrations are the slot migrations that the server remembers since its start, newest first. They are nil on
	// servers older than 9.0 and where the user may not ask.
	Migrations []Migration
}

// Stats are what a server counts.
type Stats struct {
	// Clients counts the connections of clients now, those of the provider included and those of replicas not.
	Clients int64
	// Commands counts the commands that were carried out.
	Commands int64
	// Hits and Misses count the keys that were looked up, and found or not.
	Hits, Misses int64
	// Evicted counts the keys that were removed since memory was used up.
	Evicted int64
}

// Myself returns the server's own entry in its view of the cluster, or nil.
func (s *State) Myself() *PeerNode {
	for i := range s.Nodes {
		if s.Nodes[i].Myself {
			return &s.Nodes[i]
		}
	}
	return nil
}

// Node returns the entry of a node id in the server's view of the cluster, or nil.
func (s *State) Node(id string) *PeerNode {
	for i := range s.Nodes {
		if s.Nodes[i].ID == id {
			return &s.Nodes[i]
		}
	}
	return nil
}

// stateCommands are the commands of State in the order of their replies. CLUSTER MYID is not among them, CLUSTER NODES marks
// the server itself.
func stateCommands(stats bool) [][]string {
	info := []string{"INFO", "server", "memory", "persistence", "replication", "keyspace"}
	if stats {
		info = append(info, "clients", "stats")
	}
	return [][]string{info, {"CLUSTER", "INFO"}, {"CLUSTER", "NODES"}, {"CLUSTER", "GETSLOTMIGRATIONS"}}
}

// A Care is what else there is to know of a server to look after it.
type Care struct {
	// Settings are the values of settings, as ConfigGet returns them.
	Settings map[string]string
	// Users are the server's users, as ACLList returns them.
	Users []string
}

// State asks the server for its state, in one round trip.
func (n *Node) State(ctx context.Context) (*State, error) {
	s, _, err := n.ask(ctx, nil)
	return s, err
}

// Look asks the server for everything the provider wants to know of it in every pass, in one round trip. There may be
// thousands of servers, and most of the time of a question is that of its packets.
func (n *Node) Look(ctx context.Context, settings ...string) (*State, Care, error) {
	s, rs, err := n.ask(ctx, [][]string{append([]string{"CONFIG", "GET"}, settings...), {"ACL", "LIST"}})
	if err != nil {
		return nil, Care{}, err
	}
	care := Care{}
	if care.Settings, err = rs[0].AsStrMap(); err == nil {
		care.Users, err = rs[1].AsStrSlice()
	}
	if err != nil {
		return nil, Care{}, n.wrap(call{what: "asking for settings and users"}, translate(err, nil))
	}
	return s, care, nil
}

// ask sends the commands of State and more, and returns the replies to the latter.
func (n *Node) ask(ctx context.Context, more [][]string) (s *State, replies []valkey.ValkeyResult, err error) {
	var bad error
	err = n.withConn(ctx, 0, func(ctx context.Context, c *conn) error {
		commands := slices.Concat(more, n.pool.state)
		// The one of the migrations is the last.
		if c.noMigrations {
			commands = commands[:len(commands)-1]
		}
		rs, err := c.do(ctx, commands)
		if err != nil {
			return err
		}
		replies = rs[:len(more)]
		// What the server answered does not speak against the connection, so it is no error here.
		if s, bad = readState(rs[len(more):]); bad == nil {
			c.noMigrations = olderThan9(s.Version)
		}
		return nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, nil, n.wrap(call{what: "asking for the state"}, err)
	}
	return s, replies, nil
}

func readState(rs []valkey.ValkeyResult) (*State, error) {
	text, err := rs[0].ToString()
	if err != nil {
		return nil, translate(err, nil)
	}
	s, err := readInfo(ParseInfo(text))
	if err != nil {
		return nil, err
	}
	if err := s.readCluster(rs[1], rs[2]); err != nil {
		return nil, err
	}
	if len(rs) > 3 {
		s.Migrations, err = readMigrations(rs[3])
	}
	return s, err
}

func readInfo(info map[string]string) (*State, error) {
	r, err := ParseReplication(info)
	if err != nil {
		return nil, err
	}
	f := fields{m: info}
	s := &State{
		// redis_version is a fixed 7.2.4 for old clients. Who keeps one of these must not keep the whole reply with it.
		Version:     strings.Clone(info["valkey_version"]),
		RunID:       strings.Clone(info["run_id"]),
		Uptime:      f.seconds("uptime_in_seconds"),
		Loading:     info["loading"] == "1" || info["async_loading"] == "1",
		UsedMemory:  f.int("used_memory"),
		MaxMemory:   f.int("maxmemory"),
		Keys:        f.keys(),
		Replication: r,
	}
	if _, ok := info["total_commands_processed"]; ok {
		s.Stats = &Stats{
			Clients: f.int("connected_clients"), Commands: f.int("total_commands_processed"),
			Hits: f.int("keyspace_hits"), Misses: f.int("keyspace_misses"), Evicted: f.int("evicted_keys"),
		}
	}
	return s, f.err
}

func (s *State) readCluster(info, nodes valkey.ValkeyResult) error {
	text, err := info.ToString()
	if err != nil {
		return translate(err, nil)
	}
	ci, err := ParseClusterInfo(text)
	if err != nil {
		return err
	}
	s.ClusterOK, s.CurrentEpoch, s.MyEpoch = ci.OK, ci.CurrentEpoch, ci.MyEpoch
	s.KnownNodes, s.SlotsAssigned = ci.KnownNodes, ci.SlotsAssigned
	if text, err = nodes.ToString(); err != nil {
		return translate(err, nil)
	}
	if s.Nodes, err = ParseClusterNodes(text); err != nil {
		return err
	}
	me := s.Myself()
	if me == nil {
		return fmt.Errorf("%w: no line of CLUSTER NODES is about the server itself", errBroken)
	}
	s.ID = me.ID
	return nil
}

// readMigrations tolerates servers that do not know the command (8.x) or are loading, and users that may not send it.
func readMigrations(r valkey.ValkeyResult) ([]Migration, error) {
	v, err := r.ToAny()
	err = translate(err, nil)
	if IsUnknownCommand(err) || IsLoading(err) || IsNoPerm(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseSlotMigrations(v)
}

// olderThan9 reports whether a version is known and has no slot migrations.
func olderThan9(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 9
}
