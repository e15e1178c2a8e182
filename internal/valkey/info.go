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
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// A Role is what a server does in replication.
type Role string

// The roles of a server.
const (
	RolePrimary Role = "Primary"
	RoleReplica Role = "Replica"
)

// Replication is the replication section of a server's INFO.
type Replication struct {
	// Role is the server's role.
	Role Role
	// PrimaryHost and PrimaryPort are where a replica follows its primary.
	PrimaryHost string
	PrimaryPort int
	// LinkUp says whether a replica is connected to its primary and streams from it.
	LinkUp bool
	// LinkDownFor is how long a replica's link has been down, to the second.
	LinkDownFor time.Duration
	// SyncInProgress says that a full copy from the primary is under way.
	SyncInProgress bool
	// LastIO is how long ago a replica heard of its primary, to the second; -1s if it never did or the link is down.
	LastIO time.Duration
	// ID is the replication id (master_replid). Offsets of two servers only compare under the same id.
	ID string
	// Offset is the position in the replication stream in bytes: what a primary has produced, or what a replica has applied.
	Offset int64
	// ReceivedOffset is what a replica has received, in bytes (slave_read_repl_offset). 0 on a primary.
	ReceivedOffset int64
	// Replicas are the replicas connected to this server.
	Replicas []ReplicaInfo
}

// A ReplicaInfo is a replica as its primary sees it.
type ReplicaInfo struct {
	// IP and Port are where the replica listens.
	IP   string
	Port int
	// State is "online" once the replica streams; before that "wait_bgsave" or "send_bulk".
	State string
	// Offset is the position that the replica acknowledged last, in bytes.
	Offset int64
	// Lag is how long ago the last acknowledgement came, to the second.
	Lag time.Duration
}

// ParseInfo parses the reply of INFO into its fields. Lines that are not "name:value" are ignored.
func ParseInfo(reply string) map[string]string {
	out := make(map[string]string, strings.Count(reply, "\n"))
	for line := range strings.Lines(reply) {
		line = strings.TrimRight(line, "\r\n")
		if k, v, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			out[k] = v
		}
	}
	return out
}

// ParseReplication reads the replication section of the fields of INFO.
func ParseReplication(info map[string]string) (Replication, error) {
	f := fields{m: info}
	r := Replication{ID: info["master_replid"]}
	switch info["role"] {
	case "master", "primary":
		r.Role = RolePrimary
		r.Offset = f.int("master_repl_offset")
	case "slave", "replica":
		r.Role = RoleReplica
		r.PrimaryHost = info["master_host"]
		r.PrimaryPort = int(f.int("master_port"))
		r.LinkUp = info["master_link_status"] == "up"
		r.LinkDownFor = f.seconds("master_link_down_since_seconds")
		r.SyncInProgress = info["master_sync_in_progress"] == "1"
		r.LastIO = f.seconds("master_last_io_seconds_ago")
		r.Offset = f.int("slave_repl_offset")
		r.ReceivedOffset = f.int("slave_read_repl_offset")
	default:
		return Replication{}, fmt.Errorf("%w to INFO: role %q", errBroken, info["role"])
	}
	r.Replicas = f.replicas()
	return r, f.err
}

// ParseClusterInfo reads the fields of CLUSTER INFO that a State holds.
func ParseClusterInfo(reply string) (ClusterInfo, error) {
	m := ParseInfo(reply)
	f := fields{m: m}
	c := ClusterInfo{
		OK:            m["cluster_state"] == "ok",
		CurrentEpoch:  f.uint("cluster_current_epoch"),
		MyEpoch:       f.uint("cluster_my_epoch"),
		KnownNodes:    int(f.int("cluster_known_nodes")),
		SlotsAssigned: int(f.int("cluster_slots_assigned")),
		SlotsOK:       int(f.int("cluster_slots_ok")),
		Size:          int(f.int("cluster_size")),
	}
	if m["cluster_state"] == "" {
		return ClusterInfo{}, fmt.Errorf("%w to CLUSTER INFO: no cluster_state", errBroken)
	}
	return c, f.err
}

// ClusterInfo is what CLUSTER INFO says.
type ClusterInfo struct {
	// OK says whether the server serves, in its own opinion (cluster_state).
	OK bool
	// CurrentEpoch and MyEpoch are the cluster's epoch and that of the server's shard.
	CurrentEpoch, MyEpoch uint64
	// KnownNodes counts all nodes that the server has an entry for, dead ones and itself included.
	KnownNodes int
	// SlotsAssigned counts the slots that have an owner, SlotsOK those whose owner is not failing.
	SlotsAssigned, SlotsOK int
	// Size counts the primaries that own slots.
	Size int
}

// fields reads typed values and remembers the first that has no sense. An absent value is zero: sections differ between
// versions and roles.
type fields struct {
	m   map[string]string
	err error
}

func (f *fields) int(name string) int64 {
	v, ok := f.m[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v, 10, 64)
	f.note(name, v, err)
	return n
}

func (f *fields) uint(name string) uint64 {
	v, ok := f.m[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 64)
	f.note(name, v, err)
	return n
}

func (f *fields) seconds(name string) time.Duration { return seconds(f.int(name)) }

func (f *fields) note(name, value string, err error) {
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%w: %s is %q", errBroken, name, value)
	}
}

// replicas reads slave0, slave1, ...: "ip=127.0.0.1,port=6379,state=online,offset=42,lag=0,type=replica".
func (f *fields) replicas() []ReplicaInfo {
	var out []ReplicaInfo
	for i := 0; ; i++ {
		line, ok := f.m["slave"+strconv.Itoa(i)]
		if !ok {
			return out
		}
		m := map[string]string{}
		for kv := range strings.SplitSeq(line, ",") {
			k, v, _ := strings.Cut(kv, "=")
			m[k] = v
		}
		r := fields{m: m}
		out = append(out, ReplicaInfo{
			IP:     plainIP(m["ip"]),
			Port:   int(r.int("port")),
			State:  m["state"],
			Offset: r.int("offset"),
			Lag:    r.seconds("lag"),
		})
		if r.err != nil && f.err == nil {
			f.err = r.err
		}
	}
}

// keys sums the keys of all databases: "db0:keys=3,expires=0,avg_ttl=0".
func (f *fields) keys() int64 {
	var sum int64
	for name, v := range f.m {
		db, ok := strings.CutPrefix(name, "db")
		if !ok {
			continue
		}
		if _, err := strconv.Atoi(db); err != nil {
			continue
		}
		for kv := range strings.SplitSeq(v, ",") {
			if n, ok := strings.CutPrefix(kv, "keys="); ok {
				k, err := strconv.ParseInt(n, 10, 64)
				f.note(name, v, err)
				sum += k
			}
		}
	}
	return sum
}

// plainIP removes the IPv4-in-IPv6 form that a dual-stack socket reports.
func plainIP(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().String()
	}
	return s
}

// maxSeconds is the longest time that a Duration holds.
const maxSeconds = int64(1<<63-1) / int64(time.Second)

func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, -1), maxSeconds)) * time.Second
}
