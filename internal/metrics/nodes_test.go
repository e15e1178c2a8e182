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

package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
)

// members of a cluster: a primary, a replica, one whose primary does not answer,
// and one that does not answer itself.
func members() Picture {
	p := picture()
	p.Members = []Member{
		{Name: "carts-0", Role: "primary", Lifecycle: "Active", Answers: true, Version: "9.1.2", Node: &Node{
			UsedMemory: 1024, MaxMemory: 2048, Keys: 7, Clients: 3, Commands: 100, Hits: 5, Misses: 6, Evicted: 1,
		}},
		{Name: "carts-1", Shard: 1, Role: "replica", Lifecycle: "Active", Answers: true, Version: "9.1.2", Node: &Node{Keys: 7, Replica: &Replica{LinkUp: true, Lag: 42}}},
		{Name: "carts-2", Role: "replica", Lifecycle: "Active", Answers: true, Version: "9.1.2", Node: &Node{Replica: &Replica{Lag: -1}}},
		{Name: "carts-3", Lifecycle: "Joining"},
	}
	return p
}

func TestCollectNodes(t *testing.T) {
	c := NewClusters(true)
	c.Show("1", members())
	want := `
# HELP valkey_node_commands_total Commands carried out, those of the provider included.
# TYPE valkey_node_commands_total counter
valkey_node_commands_total{cluster="carts",namespace="shop",node="carts-0"} 100
valkey_node_commands_total{cluster="carts",namespace="shop",node="carts-1"} 0
valkey_node_commands_total{cluster="carts",namespace="shop",node="carts-2"} 0
# HELP valkey_node_info 1 for every member, with its shard, its role and the version of its server, to be joined with its other series.
# TYPE valkey_node_info gauge
valkey_node_info{cluster="carts",namespace="shop",node="carts-0",role="primary",shard="0",version="9.1.2"} 1
valkey_node_info{cluster="carts",namespace="shop",node="carts-1",role="replica",shard="1",version="9.1.2"} 1
valkey_node_info{cluster="carts",namespace="shop",node="carts-2",role="replica",shard="0",version="9.1.2"} 1
valkey_node_info{cluster="carts",namespace="shop",node="carts-3",role="none",shard="0",version=""} 1
# HELP valkey_node_replication_lag_bytes Bytes of the replication stream by which a replica is behind its primary. Only of replicas whose primary answers.
# TYPE valkey_node_replication_lag_bytes gauge
valkey_node_replication_lag_bytes{cluster="carts",namespace="shop",node="carts-1"} 42
# HELP valkey_node_replication_link_up Whether a replica is connected to its primary. Only of replicas.
# TYPE valkey_node_replication_link_up gauge
valkey_node_replication_link_up{cluster="carts",namespace="shop",node="carts-1"} 1
valkey_node_replication_link_up{cluster="carts",namespace="shop",node="carts-2"} 0
# HELP valkey_node_up Whether the server answered the provider.
# TYPE valkey_node_up gauge
valkey_node_up{cluster="carts",namespace="shop",node="carts-0"} 1
valkey_node_up{cluster="carts",namespace="shop",node="carts-1"} 1
valkey_node_up{cluster="carts",namespace="shop",node="carts-2"} 1
valkey_node_up{cluster="carts",namespace="shop",node="carts-3"} 0
`
	err := testutil.CollectAndCompare(c, strings.NewReader(want), "valkey_node_commands_total", "valkey_node_info",
		"valkey_node_replication_lag_bytes", "valkey_node_replication_link_up", "valkey_node_up")
	if err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"memory_used_bytes": "1024", "memory_max_bytes": "2048", "keys": "7", "connected_clients": "3",
		"keyspace_hits_total": "5", "keyspace_misses_total": "6", "keys_evicted_total": "1",
	} {
		text, err := testutil.CollectAndFormat(c, expfmt.TypeTextPlain, "valkey_node_"+name)
		if err != nil {
			t.Fatal(err)
		}
		if line := "valkey_node_" + name + `{cluster="carts",namespace="shop",node="carts-0"} ` + want; !strings.Contains(string(text), line+"\n") {
			t.Errorf("there is no %s in\n%s", line, text)
		}
	}
}

// TestNodeBudget holds the number of series of a member, since there may be ten
// thousands of them, and sees them go.
func TestNodeBudget(t *testing.T) {
	off, on := NewClusters(false), NewClusters(true)
	none := testutil.CollectAndCount(on)
	off.Show("1", members())
	on.Show("1", members())
	nodes := testutil.CollectAndCount(on) - testutil.CollectAndCount(off)
	if got, most := nodes, 4*NodeBudget; got == 0 || got > most {
		t.Errorf("4 members cause %d series, more than %d", got, most)
	}
	p := members()
	p.Members = p.Members[1:2]
	on.Show("1", p)
	off.Show("1", p)
	if got := testutil.CollectAndCount(on) - testutil.CollectAndCount(off); got != NodeBudget {
		t.Errorf("a replica causes %d series, not %d", got, NodeBudget)
	}
	on.Forget("1")
	if got := testutil.CollectAndCount(on); got != none {
		t.Errorf("a cluster that is gone leaves %d series", got-none)
	}
}

// TestNodeConventions has Prometheus' own linter look at names, units and help.
func TestNodeConventions(t *testing.T) {
	c := NewClusters(true)
	c.Show("1", members())
	problems, err := testutil.CollectAndLint(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
