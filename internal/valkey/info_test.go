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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseReplication(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   Replication
		fails  bool
	}{
		"Primary": {
			reason: "A primary reports its replicas, whatever state they are in.",
			in: "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n" +
				"slave0:ip=10.0.0.2,port=6379,state=online,offset=42,lag=1,type=replica\r\n" +
				"slave1:ip=::ffff:10.0.0.3,port=6379,state=wait_bgsave,offset=0,lag=0\r\n" +
				"slave2:ip=fd00::4,port=6379,state=send_bulk,offset=0,lag=0\r\n" +
				"master_replid:abc\r\nmaster_repl_offset:56\r\n",
			want: Replication{Role: RolePrimary, ID: "abc", Offset: 56, Replicas: []ReplicaInfo{
				{IP: "10.0.0.2", Port: 6379, State: "online", Offset: 42, Lag: time.Second},
				{IP: "10.0.0.3", Port: 6379, State: "wait_bgsave"},
				{IP: "fd00::4", Port: 6379, State: "send_bulk"},
			}},
		},
		"Replica": {
			reason: "A replica in sync reports its own offset and not the primary's.",
			in: "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\nmaster_link_status:up\r\nmaster_last_io_seconds_ago:3\r\n" +
				"master_sync_in_progress:0\r\nslave_read_repl_offset:57\r\nslave_repl_offset:56\r\nmaster_replid:abc\r\nmaster_repl_offset:99\r\n",
			want: Replication{Role: RoleReplica, PrimaryHost: "10.0.0.1", PrimaryPort: 6379, LinkUp: true, LastIO: 3 * time.Second, ID: "abc", Offset: 56, ReceivedOffset: 57},
		},
		"ReplicaInSync": {
			reason: "A replica that copies has a link that is down, and -1 means never.",
			in: "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\nmaster_link_status:down\r\nmaster_last_io_seconds_ago:-1\r\n" +
				"master_sync_in_progress:1\r\nslave_repl_offset:0\r\nmaster_link_down_since_seconds:7\r\n",
			want: Replication{Role: RoleReplica, PrimaryHost: "10.0.0.1", PrimaryPort: 6379, LastIO: -time.Second, SyncInProgress: true, LinkDownFor: 7 * time.Second},
		},
		"NoRole":     {reason: "Without a role nothing can be said.", in: "uptime_in_seconds:3\r\n", fails: true},
		"BadOffset":  {reason: "An offset is a number.", in: "role:master\r\nmaster_repl_offset:x\r\n", fails: true},
		"BadReplica": {reason: "So is a replica's.", in: "role:master\r\nslave0:ip=1,port=,offset\r\n", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseReplication(ParseInfo(tc.in))
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nParseReplication(...): error %v", tc.reason, err)
			}
			if tc.fails {
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseReplication(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseClusterInfo(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   ClusterInfo
		fails  bool
	}{
		"OK": {
			reason: "The fields of a cluster that serves are understood.",
			in: "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\ncluster_known_nodes:6\r\n" +
				"cluster_size:3\r\ncluster_current_epoch:18446744073709551615\r\ncluster_my_epoch:1\r\n",
			want: ClusterInfo{OK: true, CurrentEpoch: 1<<64 - 1, MyEpoch: 1, KnownNodes: 6, SlotsAssigned: 16384, SlotsOK: 16384, Size: 3},
		},
		"Fail":  {reason: "Any other state does not serve.", in: "cluster_state:fail\r\ncluster_known_nodes:1\r\n", want: ClusterInfo{KnownNodes: 1}},
		"Empty": {reason: "A reply without a state is not one of CLUSTER INFO.", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseClusterInfo(tc.in)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nParseClusterInfo(...): error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseClusterInfo(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadInfo(t *testing.T) {
	in := "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\nrun_id:abc\r\nuptime_in_seconds:60\r\n" +
		"used_memory:100\r\nmaxmemory:200\r\nloading:0\r\nasync_loading:0\r\nrole:master\r\ndb0:keys=3,expires=1,avg_ttl=0\r\ndb12:keys=4,expires=0\r\ndbx:keys=9\r\n"
	want := &State{
		Version: "8.1.1", RunID: "abc", Uptime: time.Minute, UsedMemory: 100, MaxMemory: 200, Keys: 7,
		Replication: Replication{Role: RolePrimary},
	}
	got, err := readInfo(ParseInfo(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("readInfo(...): -want, +got:\n%s", diff)
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add("role:master\r\nslave0:ip=::1,port=6379,state=online,offset=42,lag=1\r\ndb0:keys=1\r\n")
	f.Add("role:slave\r\nmaster_last_io_seconds_ago:9223372036854775807\r\n")
	f.Add("cluster_state:ok\r\ncluster_size:-1")
	f.Fuzz(func(_ *testing.T, in string) {
		_, _ = readInfo(ParseInfo(in))
		_, _ = ParseClusterInfo(in)
	})
}
