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

// Package metrics tells Prometheus of every ValkeyCluster. Its series carry the
// namespace and the name of the cluster, are the same for all clusters, and end
// with the cluster.
package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Budget is the highest number of series that one cluster causes, and NodeBudget
// what each of its members causes besides, where they are asked for.
const (
	Budget     = 32
	NodeBudget = 12
)

// The values of labels. All series of a label are there from the start, at zero,
// so that rates and alerts work from the first event on.
var (
	states     = []string{"Creating", "Active", "Invalid"}
	roles      = []string{"primary", "replica", "none"}
	lifecycles = []string{"Joining", "Active", "Leaving"}
	causes     = []string{CausePlanned, CauseForced, CauseTakeover, CauseValkey}
	kinds      = []string{ErrorUnreachable, ErrorTLS, ErrorDenied, ErrorOther}
)

// Causes of a failover, that is of a replica that became primary.
const (
	// CausePlanned is a lossless hand over that the provider ordered.
	CausePlanned = "planned"
	// CauseForced is one that the provider ordered since the primary was dead.
	CauseForced = "forced"
	// CauseTakeover is one that the provider ordered since no majority was left.
	CauseTakeover = "takeover"
	// CauseValkey is one that the servers decided by themselves.
	CauseValkey = "valkey"
)

// Kinds of errors of commands to Valkey servers.
const (
	ErrorUnreachable = "unreachable"
	ErrorTLS         = "tls"
	ErrorDenied      = "denied"
	ErrorOther       = "other"
)

// A Member is what counts of a member.
type Member struct {
	// Role is primary, replica or empty.
	Role string
	// Lifecycle is Joining, Active or Leaving.
	Lifecycle string
	// Answers tells whether its server answered.
	Answers bool
	// Name of the member, the shard that it belongs to, and the version of its
	// server, if that answered.
	Name    string
	Shard   int
	Version string
	// Node is what its server said of itself, nil if it did not answer.
	Node *Node
}

// A Node is what a server says of itself.
type Node struct {
	// UsedMemory and MaxMemory are in bytes; a MaxMemory of 0 means no limit.
	UsedMemory int64
	MaxMemory  int64
	Keys       int64
	Clients    int64
	// Counted since the start of the server, as its next four fields.
	Commands int64
	Hits     int64
	Misses   int64
	Evicted  int64
	// Replica is nil on a primary.
	Replica *Replica
}

// A Replica is how far a replica is behind its primary.
type Replica struct {
	LinkUp bool
	// Lag is in bytes of the replication stream, -1 if it cannot be told.
	Lag int64
}

// A Picture is how a cluster was found by one pass.
type Picture struct {
	Namespace string
	Name      string
	// State is Creating, Active or Invalid.
	State string
	// Converged tells that nothing is left to do, Serving that live primaries
	// hold all slots.
	Converged bool
	Serving   bool
	// Wanted is the number of members that the spec asks for.
	Wanted  int
	Members []Member
	// Outdated is the number of members that have to be replaced.
	Outdated int
	// Waiting tells that they are not replaced yet, since too many other clusters
	// roll.
	Waiting bool
	// SlotsAssigned belong to a primary that answers; SlotsMoving have to move to
	// another one.
	SlotsAssigned int
	SlotsMoving   int
	// Keys and bytes of all primaries; a MaxMemory of 0 means no limit.
	Keys       int64
	UsedMemory int64
	MaxMemory  int64
	// Certificate is the end of the serving certificate, zero without TLS.
	Certificate time.Time
}

// Clusters holds the latest picture of every cluster. It is a Prometheus
// collector. A nil one takes everything and tells nothing.
type Clusters struct {
	nodes    bool
	mu       sync.Mutex
	clusters map[string]*cluster
	toActive prometheus.Histogram
}

// A cluster is what is remembered of one. Its counters start anew with the
// provider, as Prometheus expects.
type cluster struct {
	picture   Picture
	seen      bool
	failovers map[string]int
	errors    map[string]int
}

// NewClusters returns an empty collector, which on demand tells of every member too.
func NewClusters(nodes bool) *Clusters {
	return &Clusters{
		nodes:    nodes,
		clusters: map[string]*cluster{},
		toActive: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "valkey_cluster_time_to_active_seconds",
			Help:    "Time from the creation of a ValkeyCluster until it was Active for the first time, over all clusters.",
			Buckets: []float64{1, 2, 3, 5, 7, 10, 15, 20, 30, 60, 120, 300, 600},
		}),
	}
}

func (c *Clusters) of(uid string) *cluster {
	x := c.clusters[uid]
	if x == nil {
		x = &cluster{failovers: map[string]int{}, errors: map[string]int{}}
		c.clusters[uid] = x
	}
	return x
}

// Show takes the latest picture of a cluster.
func (c *Clusters) Show(uid string, p Picture) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of(uid)
	x.picture, x.seen = p, true
}

// Failover counts a replica that became primary.
func (c *Clusters) Failover(uid, cause string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(uid).failovers[cause]++
}

// CommandError counts a command to a server that failed.
func (c *Clusters) CommandError(uid, kind string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(uid).errors[kind]++
}

// BecameActive takes the time that a new cluster took to become Active.
func (c *Clusters) BecameActive(d time.Duration) {
	if c == nil {
		return
	}
	c.toActive.Observe(d.Seconds())
}

// Forget ends all series of a cluster.
func (c *Clusters) Forget(uid string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.clusters, uid)
}

// Describe sends the descriptions of all metrics.
func (c *Clusters) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descriptions {
		ch <- d
	}
	if c.nodes {
		for _, d := range nodeDescriptions {
			ch <- d
		}
	}
	c.toActive.Describe(ch)
}

// Collect sends the series of all clusters.
func (c *Clusters) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.clusters {
		if x.seen {
			x.collect(ch)
		}
		if c.nodes {
			x.picture.collectNodes(ch)
		}
	}
	c.toActive.Collect(ch)
}

func (x *cluster) collect(ch chan<- prometheus.Metric) {
	p := x.picture
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{p.Namespace, p.Name}, labels...)...)
	}
	counter := func(d *prometheus.Desc, v int, label string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), p.Namespace, p.Name, label)
	}
	for _, s := range states {
		gauge(descState, number(s == p.State), s)
	}
	for _, l := range lifecycles {
		for _, r := range roles {
			gauge(descMembers, p.count(func(m Member) bool { return m.Lifecycle == l && m.role() == r }), r, l)
		}
	}
	gauge(descConverged, number(p.Converged))
	gauge(descServing, number(p.Serving))
	gauge(descWanted, float64(p.Wanted))
	gauge(descAnswering, p.count(func(m Member) bool { return m.Answers }))
	gauge(descOutdated, float64(p.Outdated))
	gauge(descWaiting, number(p.Waiting))
	gauge(descAssigned, float64(p.SlotsAssigned))
	gauge(descMoving, float64(p.SlotsMoving))
	gauge(descKeys, float64(p.Keys))
	gauge(descUsed, float64(p.UsedMemory))
	gauge(descMax, float64(p.MaxMemory))
	if !p.Certificate.IsZero() {
		gauge(descCertificate, float64(p.Certificate.Unix()))
	}
	for _, cause := range causes {
		counter(descFailovers, x.failovers[cause], cause)
	}
	for _, kind := range kinds {
		counter(descErrors, x.errors[kind], kind)
	}
}

func (p Picture) count(ok func(Member) bool) float64 {
	return float64(len(p.Members) - len(slices.DeleteFunc(slices.Clone(p.Members), ok)))
}

func (m Member) role() string {
	if m.Role == "" {
		return "none"
	}
	return m.Role
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
