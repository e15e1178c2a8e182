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

package valkeyserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// nodeTimeout is the cluster-node-timeout that members have once the cluster has formed, in milliseconds.
const nodeTimeout = "5000"

// A Cluster is a formed cluster.
type Cluster struct {
	// Primaries are the first primaries, shard by shard.
	Primaries []*Server
	// Replicas are the first replicas of each shard.
	Replicas [][]*Server
	// IDs are the node ids of all servers.
	IDs map[*Server]string
}

// Servers returns all servers, primaries first.
func (c *Cluster) Servers() []*Server {
	out := append([]*Server(nil), c.Primaries...)
	for _, rs := range c.Replicas {
		out = append(out, rs...)
	}
	return out
}

// StartCluster starts a cluster in which all servers agree and all replicas are in sync. The slots are spread evenly.
func StartCluster(t testing.TB, version string, shards, replicas int, o Options) *Cluster {
	t.Helper()
	// What the test wants is set at the end: how long a cluster takes to form depends on these.
	final := map[string]string{"cluster-node-timeout": nodeTimeout, "cluster-replica-no-failover": "no"}
	forming := maps.Clone(o.Conf)
	if forming == nil {
		forming = map[string]string{}
	}
	for k := range final {
		final[k] = cmp.Or(o.Conf[k], final[k])
	}
	maps.Copy(forming, map[string]string{"cluster-node-timeout": "500", "cluster-replica-no-failover": "yes"})
	o.Conf = forming

	servers := make([]*Server, shards*(1+replicas))
	for i := range servers {
		servers[i] = launch(t, version, o)
	}
	for _, s := range servers {
		s.await(t)
	}
	c := &Cluster{Primaries: servers[:shards], IDs: map[*Server]string{}}
	for i := range shards {
		c.Replicas = append(c.Replicas, servers[shards+i*replicas:shards+(i+1)*replicas])
	}
	c.form(t)
	for _, s := range servers {
		must(t, s.Node().ConfigSet(context.Background(), final))
	}
	return c
}

func (c *Cluster) form(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	for i, s := range c.Servers() {
		id, err := s.Node().MyID(ctx)
		must(t, err)
		c.IDs[s] = id
		must(t, s.Node().SetConfigEpoch(ctx, uint64(i+1)))
	}
	n := len(c.Primaries)
	for i, s := range c.Primaries {
		r := valkey.SlotRange{Start: i * valkey.SlotCount / n, End: (i+1)*valkey.SlotCount/n - 1}
		must(t, s.Node().AddSlots(ctx, []valkey.SlotRange{r}))
	}
	for _, s := range c.Servers()[1:] {
		must(t, c.Primaries[0].Node().Meet(ctx, s.IP, Port))
	}
	for i, p := range c.Primaries {
		for _, r := range c.Replicas[i] {
			Await(t, startTimeout, "the news of a primary", func() string { return text(r.Node().Replicate(ctx, c.IDs[p])) })
		}
	}
	c.AwaitAgreement(t)
}

// AwaitAgreement waits until all servers of the cluster agree; see the function of the same name.
func (c *Cluster) AwaitAgreement(t testing.TB) {
	t.Helper()
	AwaitAgreement(t, c.Servers()...)
}

// AwaitAgreement waits until servers serve, know each other and nobody else, know who follows whom, and all replicas among
// them are in sync.
func AwaitAgreement(t testing.TB, servers ...*Server) {
	t.Helper()
	Await(t, startTimeout, "the servers to agree", func() string {
		states, err := askAll(servers)
		if err != nil {
			return err.Error()
		}
		for i, s := range servers {
			if m := disagreement(states[i], states); m != "" {
				return s.Addr + ": " + m
			}
		}
		return ""
	})
}

func askAll(servers []*Server) ([]*valkey.State, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	states, errs := make([]*valkey.State, len(servers)), make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { states[i], errs[i] = s.Node().State(ctx) })
	}
	wg.Wait()
	return states, errors.Join(errs...)
}

// disagreement says why a server is not a working member of the cluster of all.
func disagreement(st *valkey.State, all []*valkey.State) string {
	switch {
	case !st.ClusterOK:
		return "it does not serve"
	case len(st.Nodes) != len(all):
		return fmt.Sprintf("it knows %d of %d servers", len(st.Nodes), len(all))
	case st.Replication.Role == valkey.RoleReplica && !st.Replication.LinkUp:
		return "it is not in sync"
	}
	slots := 0
	for _, other := range all {
		n, self := st.Node(other.ID), other.Myself()
		switch {
		case n == nil || !n.Healthy() || !n.LinkUp:
			return "it does not reach " + self.IP
		case n.Primary != self.Primary || n.PrimaryID != self.PrimaryID:
			return "it is wrong about the role of " + self.IP
		}
		slots += valkey.CountSlots(n.Slots)
	}
	if slots != valkey.SlotCount {
		return fmt.Sprintf("it knows the owners of %d slots", slots)
	}
	return ""
}

func text(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
