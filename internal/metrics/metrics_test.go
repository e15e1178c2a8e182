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
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// picture of a cluster with a replica that joins while another one is replaced.
func picture() Picture {
	return Picture{
		Namespace: "shop", Name: "carts", State: "Active", Serving: true, Wanted: 2,
		Members: []Member{
			{Role: "primary", Lifecycle: "Active", Answers: true},
			{Role: "replica", Lifecycle: "Leaving", Answers: true},
			{Lifecycle: "Joining"},
		},
		Outdated: 1, Waiting: true, SlotsAssigned: 16384, SlotsMoving: 5, Keys: 7, UsedMemory: 1024, MaxMemory: 2048,
		Certificate: time.Unix(2000000000, 0),
	}
}

func TestCollect(t *testing.T) {
	c := NewClusters(false)
	c.Show("1", picture())
	c.Failover("1", CauseForced)
	c.Failover("1", CauseForced)
	c.CommandError("1", ErrorDenied)
	c.BecameActive(4 * time.Second)

	want := `
# HELP valkey_cluster_certificate_expiry_timestamp_seconds End of the serving certificate, in seconds since 1970. Only with TLS.
# TYPE valkey_cluster_certificate_expiry_timestamp_seconds gauge
valkey_cluster_certificate_expiry_timestamp_seconds{cluster="carts",namespace="shop"} 2e+09
# HELP valkey_cluster_command_errors_total Commands of the provider to the cluster's servers that failed, by kind.
# TYPE valkey_cluster_command_errors_total counter
valkey_cluster_command_errors_total{cluster="carts",kind="denied",namespace="shop"} 1
valkey_cluster_command_errors_total{cluster="carts",kind="other",namespace="shop"} 0
valkey_cluster_command_errors_total{cluster="carts",kind="tls",namespace="shop"} 0
valkey_cluster_command_errors_total{cluster="carts",kind="unreachable",namespace="shop"} 0
# HELP valkey_cluster_failovers_total Replicas that became primary, by cause.
# TYPE valkey_cluster_failovers_total counter
valkey_cluster_failovers_total{cause="forced",cluster="carts",namespace="shop"} 2
valkey_cluster_failovers_total{cause="planned",cluster="carts",namespace="shop"} 0
valkey_cluster_failovers_total{cause="takeover",cluster="carts",namespace="shop"} 0
valkey_cluster_failovers_total{cause="valkey",cluster="carts",namespace="shop"} 0
# HELP valkey_cluster_members Members by role and lifecycle.
# TYPE valkey_cluster_members gauge
valkey_cluster_members{cluster="carts",lifecycle="Active",namespace="shop",role="none"} 0
valkey_cluster_members{cluster="carts",lifecycle="Active",namespace="shop",role="primary"} 1
valkey_cluster_members{cluster="carts",lifecycle="Active",namespace="shop",role="replica"} 0
valkey_cluster_members{cluster="carts",lifecycle="Joining",namespace="shop",role="none"} 1
valkey_cluster_members{cluster="carts",lifecycle="Joining",namespace="shop",role="primary"} 0
valkey_cluster_members{cluster="carts",lifecycle="Joining",namespace="shop",role="replica"} 0
valkey_cluster_members{cluster="carts",lifecycle="Leaving",namespace="shop",role="none"} 0
valkey_cluster_members{cluster="carts",lifecycle="Leaving",namespace="shop",role="primary"} 0
valkey_cluster_members{cluster="carts",lifecycle="Leaving",namespace="shop",role="replica"} 1
# HELP valkey_cluster_members_answering Members whose server answered the provider.
# TYPE valkey_cluster_members_answering gauge
valkey_cluster_members_answering{cluster="carts",namespace="shop"} 2
# HELP valkey_cluster_state The state of the ValkeyCluster: 1 for the one it has, 0 for the others.
# TYPE valkey_cluster_state gauge
valkey_cluster_state{cluster="carts",namespace="shop",state="Active"} 1
valkey_cluster_state{cluster="carts",namespace="shop",state="Creating"} 0
valkey_cluster_state{cluster="carts",namespace="shop",state="Invalid"} 0
`
	names := []string{
		"valkey_cluster_certificate_expiry_timestamp_seconds", "valkey_cluster_command_errors_total", "valkey_cluster_failovers_total",
		"valkey_cluster_members", "valkey_cluster_members_answering", "valkey_cluster_state",
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]float64{
		"valkey_cluster_converged": 0, "valkey_cluster_serving": 1, "valkey_cluster_members_wanted": 2, "valkey_cluster_members_outdated": 1, "valkey_cluster_waiting_to_roll": 1,
		"valkey_cluster_slots_assigned": 16384, "valkey_cluster_slots_moving": 5,
		"valkey_cluster_keys": 7, "valkey_cluster_memory_used_bytes": 1024, "valkey_cluster_memory_max_bytes": 2048,
	} {
		if got := value(t, c, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// value returns the value of a metric that has one series.
func value(t *testing.T, c prometheus.Collector, name string) float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name && len(f.GetMetric()) == 1 {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("%s does not have one series", name)
	return 0
}

// TestBudget holds the number of series of a cluster, since there may be
// thousands of clusters.
func TestBudget(t *testing.T) {
	c := NewClusters(false)
	none := testutil.CollectAndCount(c)
	c.Show("1", picture())
	one := testutil.CollectAndCount(c)
	if got := one - none; got > Budget {
		t.Errorf("a cluster causes %d series, more than %d", got, Budget)
	}
	c.CommandError("1", ErrorOther)
	c.Failover("1", CauseValkey)
	if got := testutil.CollectAndCount(c); got != one {
		t.Errorf("events change the number of series from %d to %d", one, got)
	}
	c.Forget("1")
	if got := testutil.CollectAndCount(c); got != none {
		t.Errorf("a cluster that is gone leaves %d series", got-none)
	}
}

// TestConventions has Prometheus' own linter look at names, units and help.
func TestConventions(t *testing.T) {
	c := NewClusters(false)
	c.Show("1", picture())
	problems, err := testutil.CollectAndLint(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestEventsBeforeAPicture(t *testing.T) {
	c := NewClusters(false)
	none := testutil.CollectAndCount(c)
	c.CommandError("1", ErrorTLS)
	if got := testutil.CollectAndCount(c); got != none {
		t.Errorf("a cluster without a picture has %d series, but no name to tell", got-none)
	}
}

func TestNil(*testing.T) {
	var c *Clusters
	c.Show("1", picture())
	c.Failover("1", CausePlanned)
	c.CommandError("1", ErrorTLS)
	c.BecameActive(time.Second)
	c.Forget("1")
}

// TestUsers looks for metrics that the dashboard or the alerts use and that the
// provider does not have.
func TestUsers(t *testing.T) {
	var have []string
	for _, d := range append(slices.Clone(descriptions), nodeDescriptions...) {
		have = append(have, regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(d.String())[1])
	}
	for _, suffix := range []string{"bucket", "sum", "count"} {
		have = append(have, "valkey_cluster_time_to_active_seconds_"+suffix)
	}
	for _, file := range []string{"dashboard.json", "alerts.yaml"} {
		text, err := os.ReadFile("../../docs/monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`valkey_(cluster|node)_[a-z_]+`).FindAllString(string(text), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metric of the provider", file)
		}
		slices.Sort(used)
		unknown := slices.DeleteFunc(slices.Compact(used), func(n string) bool { return slices.Contains(have, n) })
		if diff := cmp.Diff([]string{}, unknown); diff != "" {
			t.Errorf("%s uses metrics that there are not: -want, +got:\n%s", file, diff)
		}
	}
}
