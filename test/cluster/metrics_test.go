//go:build cluster

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

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/metrics"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// TestMetrics follows the series of a cluster from its creation over the loss of
// its primary to its end.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 3)
	s.run("measured", menu(newest), 1, 1)
	s.awaitConverged("measured", time.Minute)
	s.awaitSeries("a cluster at rest", map[string]string{
		`state{state="Active"}`: "1", `state{state="Creating"}`: "0", "converged": "1", "serving": "1",
		`members{lifecycle="Active",role="primary"}`: "1", `members{lifecycle="Active",role="replica"}`: "1", `members{lifecycle="Joining",role="none"}`: "0",
		"members_wanted": "2", "members_answering": "2", "members_outdated": "0", "slots_assigned": "16384", "slots_moving": "0",
	})
	s.losePrimary("measured")
	s.await("a failover is counted", time.Minute, func(ctx context.Context) (bool, string, error) {
		have, err := s.series(ctx)
		n := 0
		// The old primary may live for long enough to hand over.
		for _, cause := range []string{metrics.CausePlanned, metrics.CauseForced, metrics.CauseTakeover, metrics.CauseValkey} {
			if have[fmt.Sprintf(`failovers_total{cause=%q}`, cause)] == "1" {
				n++
			}
		}
		return n == 1, fmt.Sprint(have), err
	})
	s.awaitConverged("measured", time.Minute)
	have, err := s.series(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(have) > metrics.Budget {
		t.Errorf("the cluster causes %d series, more than %d", len(have), metrics.Budget)
	}

	c := &v1alpha1.ValkeyCluster{}
	c.SetName("measured")
	c.SetNamespace(s.name)
	if err := kube.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.await("no series is left", time.Minute, func(ctx context.Context) (bool, string, error) {
		have, err := s.series(ctx)
		return err == nil && len(have) == 0, fmt.Sprint(have), err
	})
}

// TestNodeMetrics follows the series of members: they tell of traffic, go with the
// member that is replaced, and end with the cluster.
func TestNodeMetrics(t *testing.T) {
	s := newSpace(t, 3)
	provider.with(t, "--node-metrics", "--poll=2s")
	s.run("measured", menu(newest), 1, 1)
	s.awaitConverged("measured", time.Minute)
	c, err := witness.NewClient(witness.Options{Addrs: []string{s.address("measured")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 10 {
		key := fmt.Sprint("key:", i)
		if err := errors.Join(c.Do(t.Context(), c.B().Set().Key(key).Value("x").Build()).Error(), c.Do(t.Context(), c.B().Get().Key(key).Build()).Error()); err != nil {
			t.Fatal(err)
		}
	}
	s.await("series of the members", time.Minute, func(ctx context.Context) (bool, string, error) {
		have, err := s.nodeSeries(ctx)
		return err == nil && have["up"] == 2 && have["keys"] == 20 && have["keyspace_hits_total"] == 10 && have["commands_total"] > 20 &&
			have["replication_link_up"] == 1 && have["memory_max_bytes"] == 2*48<<20, fmt.Sprint(have), err
	})
	s.losePrimary("measured")
	s.await("the series of the lost member are gone", time.Minute, func(ctx context.Context) (bool, string, error) {
		have, err := s.nodeSeries(ctx)
		return err == nil && have["info"] == 2 && have["up"] == 2 && have["replication_link_up"] == 1, fmt.Sprint(have), err
	})
	s.awaitConverged("measured", time.Minute)
	obj := s.cluster("measured", "", 1, 1)
	if err := kube.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	s.await("no series is left", time.Minute, func(ctx context.Context) (bool, string, error) {
		have, err := s.nodeSeries(ctx)
		return err == nil && len(have) == 0, fmt.Sprint(have), err
	})
}

// nodeSeries returns the sums over the members of the space, by metric.
func (s *space) nodeSeries(ctx context.Context) (map[string]float64, error) {
	lines, err := s.scrape(ctx, "valkey_node_")
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, l := range lines {
		name, _, _ := strings.Cut(l.name, "{")
		v, err := strconv.ParseFloat(l.value, 64)
		if err != nil {
			return nil, err
		}
		out[name] += v
	}
	return out, nil
}

// awaitSeries waits until series have values.
func (s *space) awaitSeries(what string, want map[string]string) {
	s.Helper()
	s.await("series of "+what, 20*time.Second, func(ctx context.Context) (bool, string, error) {
		have, err := s.series(ctx)
		for name, v := range want {
			if have[name] != v {
				return false, fmt.Sprintf("%s is %q, want %q", name, have[name], v), err
			}
		}
		return true, "", err
	})
}

// losePrimary deletes the pod of a primary at once, as if its machine was gone.
func (s *space) losePrimary(cluster string) {
	s.Helper()
	nodes, err := s.nodes(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	for _, n := range nodes {
		for i := range ps {
			if n.Status.Role != v1alpha1.RolePrimary || ps[i].Name != n.Name {
				continue
			}
			if err := kube.Delete(s.Context(), &ps[i], client.GracePeriodSeconds(0)); err != nil {
				s.Fatal(err)
			}
			return
		}
	}
	s.Fatal("there is no primary")
}

// series returns the values of the series of the space's clusters, by the rest
// of their name.
func (s *space) series(ctx context.Context) (map[string]string, error) {
	lines, err := s.scrape(ctx, "valkey_cluster_")
	out := map[string]string{}
	for _, l := range lines {
		out[shorten(l.name)] = l.value
	}
	return out, err
}

// A line is one series as the provider tells of it, without a prefix of its name.
type line struct{ name, value string }

// scrape returns the series of the space's clusters whose names have a prefix.
func (s *space) scrape(ctx context.Context, prefix string) ([]line, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+provider.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	var out []line
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		name, v, _ := strings.Cut(sc.Text(), "} ")
		name, ok := strings.CutPrefix(name, prefix)
		if !ok || !strings.Contains(name, fmt.Sprintf("namespace=%q", s.name)) {
			continue
		}
		out = append(out, line{name, v})
	}
	return out, sc.Err()
}

// shorten drops the labels that all series of a cluster have.
func shorten(name string) string {
	name, labels, _ := strings.Cut(name, "{")
	var rest []string
	for l := range strings.SplitSeq(labels, ",") {
		if !strings.HasPrefix(l, "cluster=") && !strings.HasPrefix(l, "namespace=") {
			rest = append(rest, l)
		}
	}
	if len(rest) == 0 {
		return name
	}
	return name + "{" + strings.Join(rest, ",") + "}"
}
