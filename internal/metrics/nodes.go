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
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	descNode     = describeNode("info", "1 for every member, with its shard, its role and the version of its server, to be joined with its other series.", "shard", "role", "version")
	descNodeUp   = describeNode("up", "Whether the server answered the provider.")
	descNodeUsed = describeNode("memory_used_bytes", "Memory in use.")
	descNodeMax  = describeNode("memory_max_bytes", "maxmemory, 0 without a limit.")
	descNodeKeys = describeNode("keys", "Keys, those of replicas too.")
	descClients  = describeNode("connected_clients", "Connections of clients, those of the provider included.")
	descCommands = describeNode("commands_total", "Commands carried out, those of the provider included.")
	descHits     = describeNode("keyspace_hits_total", "Keys that were looked up and found.")
	descMisses   = describeNode("keyspace_misses_total", "Keys that were looked up and not found.")
	descEvicted  = describeNode("keys_evicted_total", "Keys that were removed since memory was used up.")
	descLinkUp   = describeNode("replication_link_up", "Whether a replica is connected to its primary. Only of replicas.")
	descNodeLag  = describeNode("replication_lag_bytes", "Bytes of the replication stream by which a replica is behind its primary. Only of replicas whose primary answers.")
)

var nodeDescriptions = []*prometheus.Desc{
	descNode, descNodeUp, descNodeUsed, descNodeMax, descNodeKeys, descClients, descCommands, descHits, descMisses, descEvicted,
	descLinkUp, descNodeLag,
}

func describeNode(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("valkey_node_"+name, help, append([]string{"namespace", "cluster", "node"}, labels...), nil)
}

// collectNodes sends the series of the members. Of one that does not answer nothing
// is told but that.
func (p Picture) collectNodes(ch chan<- prometheus.Metric) {
	for _, m := range p.Members {
		s := series{ch: ch, labels: []string{p.Namespace, p.Name, m.Name}}
		s.gauge(descNode, 1, strconv.Itoa(m.Shard), m.role(), m.Version)
		s.gauge(descNodeUp, number(m.Answers))
		if m.Node != nil {
			m.Node.collect(s)
		}
	}
}

func (n *Node) collect(s series) {
	s.gauge(descNodeUsed, float64(n.UsedMemory))
	s.gauge(descNodeMax, float64(n.MaxMemory))
	s.gauge(descNodeKeys, float64(n.Keys))
	s.gauge(descClients, float64(n.Clients))
	s.counter(descCommands, n.Commands)
	s.counter(descHits, n.Hits)
	s.counter(descMisses, n.Misses)
	s.counter(descEvicted, n.Evicted)
	if n.Replica == nil {
		return
	}
	s.gauge(descLinkUp, number(n.Replica.LinkUp))
	if n.Replica.Lag >= 0 {
		s.gauge(descNodeLag, float64(n.Replica.Lag))
	}
}

// series are those of one member.
type series struct {
	ch     chan<- prometheus.Metric
	labels []string
}

func (s series) gauge(d *prometheus.Desc, v float64, more ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append(s.labels[:len(s.labels):len(s.labels)], more...)...)
}

func (s series) counter(d *prometheus.Desc, v int64) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), s.labels...)
}
