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

package valkeysim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// The ports of a server.
const (
	port    = 6379
	busPort = 16379
)

// offset is the position in the replication stream. Nothing is ever written.
const offset = 4242

// info returns the sections of INFO that the provider reads. They are as long as real ones: to read them takes time.
func (s *server) info(now time.Time) string {
	uptime := int(now.Sub(s.started).Seconds())
	b := &strings.Builder{}
	b.Grow(4 << 10)
	fmt.Fprintf(b, serverInfo, s.version, s.runID, uptime, uptime/86400, s.ip)
	b.WriteString(memoryInfo)
	b.WriteString(persistenceInfo)
	s.replicationInfo(b, now)
	b.WriteString("# Keyspace\r\n")
	return b.String()
}

func (s *server) replicationInfo(b *strings.Builder, now time.Time) {
	b.WriteString("# Replication\r\n")
	shard := s
	if p := s.primary; p != nil {
		shard = p
		link, syncing, last := "down", 0, -1
		if s.linked(now) {
			link, last = "up", 1
		} else if p.runs() {
			syncing = 1
		}
		fmt.Fprintf(b, replicaInfo, p.ip, port, link, last, syncing, offset, offset)
	} else {
		b.WriteString("role:master\r\n")
	}
	replicas := s.replicas()
	fmt.Fprintf(b, "connected_slaves:%d\r\n", len(replicas))
	for i, r := range replicas {
		state := "wait_bgsave"
		if r.linked(now) {
			state = "online"
		}
		fmt.Fprintf(b, "slave%d:ip=%s,port=%d,state=%s,offset=%d,lag=0,type=replica\r\n", i, r.ip, port, state, offset)
	}
	fmt.Fprintf(b, replicationInfo, shard.id, offset)
}

// replicas returns the servers that replicate this one and run, by address.
func (s *server) replicas() []*server {
	var out []*server
	for _, m := range s.cluster.members {
		if m.primary == s && m.runs() {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *server) int { return a.ip.Compare(b.ip) })
	return out
}

func (s *server) clusterInfo(now time.Time) string {
	assigned, size, _, serves := s.cluster.health(now)
	state := "fail"
	if serves {
		state = "ok"
	}
	return fmt.Sprintf(clusterInfo, state, assigned, assigned, len(s.cluster.members), size, s.cluster.epoch, s.claim())
}

// nodes returns what CLUSTER NODES does.
func (s *server) nodes(now time.Time) string {
	b := &strings.Builder{}
	members := make([]*server, 0, len(s.cluster.members))
	for _, m := range s.cluster.members {
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, o *server) int { return cmp.Compare(a.id, o.id) })
	for _, m := range members {
		primary, link := "-", "connected"
		if m.primary != nil {
			primary = m.primary.id
		}
		if !m.runs() {
			link = "disconnected"
		}
		fmt.Fprintf(b, "%s %s:%d@%d %s %s 0 %d %d %s", m.id, m.ip, port, busPort, m.flags(s, now), primary, now.UnixMilli(), m.claim(), link)
		for _, r := range m.slots.Ranges() {
			b.WriteByte(' ')
			b.WriteString(topology.FormatRanges([]topology.SlotRange{r}))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// flags returns what another server, or the server itself, calls it.
func (s *server) flags(by *server, now time.Time) string {
	out := "master"
	if s.primary != nil {
		out = "slave"
	}
	if s == by {
		out = "myself," + out
	}
	if s.fails(now) {
		out += ",fail"
	}
	return out
}

const clusterInfo = "cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n" +
	"cluster_nodes_pfail:0\r\ncluster_nodes_fail:0\r\ncluster_voting_nodes_pfail:0\r\ncluster_voting_nodes_fail:0\r\n" +
	"cluster_known_nodes:%d\r\ncluster_size:%d\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n" +
	"cluster_stats_messages_ping_sent:31415\r\ncluster_stats_messages_pong_sent:27182\r\ncluster_stats_messages_sent:58597\r\n" +
	"cluster_stats_messages_ping_received:27182\r\ncluster_stats_messages_pong_received:31415\r\ncluster_stats_messages_received:58597\r\n" +
	"total_cluster_links_buffer_limit_exceeded:0\r\n"

const serverInfo = "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:%s\r\nvalkey_release_stage:ga\r\nredis_git_sha1:00000000\r\n" +
	"redis_git_dirty:0\r\nredis_build_id:8c6a9d2f1e4b7a30\r\nserver_mode:cluster\r\nos:Linux 6.1.0 x86_64\r\narch_bits:64\r\n" +
	"monotonic_clock:POSIX clock_gettime\r\nmultiplexing_api:epoll\r\ngcc_version:12.2.0\r\nprocess_id:1\r\nprocess_supervised:no\r\n" +
	"run_id:%s\r\ntcp_port:6379\r\nserver_time_usec:1780000000000000\r\nuptime_in_seconds:%d\r\nuptime_in_days:%d\r\nhz:10\r\nconfigured_hz:10\r\n" +
	"clients_hz:10\r\nlru_clock:1234567\r\nexecutable:/var/lib/valkey/valkey-server\r\nconfig_file:/etc/valkey/conf/valkey.conf\r\n" +
	"io_threads_active:0\r\navailability_zone:\r\nlistener0:name=tcp,bind=%s,port=6379\r\n"

const memoryInfo = "# Memory\r\nused_memory:2345678\r\nused_memory_human:2.24M\r\nused_memory_rss:12345678\r\nused_memory_rss_human:11.77M\r\n" +
	"used_memory_peak:2456789\r\nused_memory_peak_human:2.34M\r\nused_memory_peak_perc:95.48%\r\nused_memory_overhead:2012345\r\n" +
	"used_memory_startup:1456789\r\nused_memory_dataset:333333\r\nused_memory_dataset_perc:37.50%\r\nallocator_allocated:2567890\r\n" +
	"allocator_active:2890123\r\nallocator_resident:6543210\r\nallocator_muzzy:0\r\ntotal_system_memory:25282764800\r\n" +
	"total_system_memory_human:23.55G\r\nused_memory_lua:31744\r\nused_memory_vm_eval:31744\r\nused_memory_lua_human:31.00K\r\n" +
	"used_memory_scripts_eval:0\r\nnumber_of_cached_scripts:0\r\nnumber_of_functions:0\r\nnumber_of_libraries:0\r\n" +
	"used_memory_vm_functions:32768\r\nused_memory_vm_total:64512\r\nused_memory_vm_total_human:63.00K\r\nused_memory_functions:192\r\n" +
	"used_memory_scripts:192\r\nused_memory_scripts_human:192B\r\nmaxmemory:1572864000\r\nmaxmemory_human:1.46G\r\n" +
	"maxmemory_policy:allkeys-lru\r\nallocator_frag_ratio:1.13\r\nallocator_frag_bytes:322233\r\nallocator_rss_ratio:2.26\r\n" +
	"allocator_rss_bytes:3653087\r\nrss_overhead_ratio:1.89\r\nrss_overhead_bytes:5802468\r\nmem_fragmentation_ratio:5.26\r\n" +
	"mem_fragmentation_bytes:10000000\r\nmem_not_counted_for_evict:0\r\nmem_replication_backlog:20508\r\nmem_total_replication_buffers:20504\r\n" +
	"mem_clients_slaves:0\r\nmem_clients_normal:22400\r\nmem_cluster_links:10720\r\nmem_cluster_slot_import:0\r\nmem_cluster_slot_export:0\r\n" +
	"mem_aof_buffer:0\r\nmem_allocator:jemalloc-5.3.0\r\nmem_overhead_db_hashtable_rehashing:0\r\nactive_defrag_running:0\r\n" +
	"lazyfree_pending_objects:0\r\nlazyfreed_objects:0\r\n"

const persistenceInfo = "# Persistence\r\nloading:0\r\nasync_loading:0\r\ncurrent_cow_peak:0\r\ncurrent_cow_size:0\r\ncurrent_cow_size_age:0\r\n" +
	"current_fork_perc:0.00\r\ncurrent_save_keys_processed:0\r\ncurrent_save_keys_total:0\r\nrdb_changes_since_last_save:0\r\n" +
	"rdb_bgsave_in_progress:0\r\nrdb_last_save_time:1780000000\r\nrdb_last_bgsave_status:ok\r\nrdb_last_bgsave_time_sec:-1\r\n" +
	"rdb_current_bgsave_time_sec:-1\r\nrdb_saves:0\r\nrdb_last_cow_size:0\r\nrdb_last_load_keys_expired:0\r\nrdb_last_load_keys_loaded:0\r\n" +
	"aof_enabled:0\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\naof_last_rewrite_time_sec:-1\r\naof_current_rewrite_time_sec:-1\r\n" +
	"aof_last_bgrewrite_status:ok\r\naof_rewrites:0\r\naof_rewrites_consecutive_failures:0\r\naof_last_write_status:ok\r\n" +
	"aof_last_cow_size:0\r\nmodule_fork_in_progress:0\r\nmodule_fork_last_cow_size:0\r\n"

const replicaInfo = "role:slave\r\nmaster_host:%s\r\nmaster_port:%d\r\nmaster_link_status:%s\r\nmaster_last_io_seconds_ago:%d\r\n" +
	"master_sync_in_progress:%d\r\nslave_read_repl_offset:%d\r\nslave_repl_offset:%d\r\nslave_priority:100\r\nslave_read_only:1\r\n" +
	"replica_announced:1\r\n"

const replicationInfo = "replicas_waiting_psync:0\r\nmaster_failover_state:no-failover\r\nmaster_replid:%s\r\n" +
	"master_replid2:0000000000000000000000000000000000000000\r\nmaster_repl_offset:%d\r\nsecond_repl_offset:-1\r\nrepl_backlog_active:1\r\n" +
	"repl_backlog_size:10485760\r\nrepl_backlog_first_byte_offset:1\r\nrepl_backlog_histlen:4242\r\n"
