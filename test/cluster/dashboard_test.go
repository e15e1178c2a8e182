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
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/test/dashboard"
)

// scrapeInterval of the Prometheus of tests.
const scrapeInterval = time.Second

// A prometheus is a running one that scrapes the provider.
type prometheus struct {
	promv1.API

	begin time.Time
}

// startPrometheus runs Prometheus until the test ends.
func startPrometheus(t *testing.T) *prometheus {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(dir, "cluster", "local", "local"), "prometheus").Output()
	if err != nil {
		t.Fatalf("cannot get Prometheus: %v", err)
	}
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	conf := filepath.Join(tmp, "prometheus.yaml")
	text := fmt.Sprintf("scrape_configs: [{job_name: provider, scrape_interval: %s, scrape_timeout: %[1]s, static_configs: [{targets: [%q]}]}]\n", scrapeInterval, provider.metrics)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(tmp, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // The child has its own.
	cmd := exec.Command(strings.TrimSpace(string(out)), "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(tmp, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	c, err := api.NewClient(api.Config{Address: "http://" + address, Client: &http.Client{Timeout: 10 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	p := &prometheus{API: promv1.NewAPI(c)}
	if _, err := await("Prometheus has looked at the provider", time.Minute, func(ctx context.Context) (bool, string, error) {
		v, _, err := p.Query(ctx, "up == 1", time.Now())
		if err != nil {
			return false, "", err
		}
		return len(v.(model.Vector)) == 1, v.String(), nil
	}); err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("%v\n%s", err, text)
	}
	p.begin = time.Now()
	return p
}

// samples are the values of a query over the time since the start.
func (p *prometheus) samples(ctx context.Context, query string, until time.Time) (model.Matrix, error) {
	v, _, err := p.QueryRange(ctx, query, promv1.Range{Start: p.begin, End: until, Step: scrapeInterval})
	if err != nil {
		return nil, err
	}
	m, ok := v.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("the answer is a %s", v.Type())
	}
	return m, nil
}

// positive are the panels that cannot be all zero after a creation, a roll for which
// another cluster waits, a change of the number of shards, and a lost primary.
var positive = []string{
	"Clusters", "Active", "Changing", "Certificate that ends first", "Time until a new cluster is Active", "Failovers in an hour, by cause",
	"Serving, converged", "Members by role", "Roll: members to be replaced, joining, leaving; waiting", "Slots without an owner, slots that have to move",
	"Memory of the primaries", "Keys", "Commands of each member", "Keys found, of those looked up", "Memory in use, of maxmemory", "Connected clients",
	"Passes", "Duration of a pass, p95",
}

// TestDashboard lets a real Prometheus watch the provider through what the dashboard
// shows, has it answer every query of the dashboard, and draws what it answers.
func TestDashboard(t *testing.T) {
	provider.with(t, "--node-metrics", "--poll=2s", "--max-rolling-clusters=1")
	p := startPrometheus(t)
	var marks []dashboard.Mark
	mark := func(what string) { marks = append(marks, dashboard.Mark{At: time.Now(), What: what}) }
	mark("two clusters are made, traffic begins")
	w := watchAs(t, 12, newest, 1, true)
	w.run("queue", w.own("config"), 1, 0)
	w.awaitConverged("queue", time.Minute)

	mark("a setting of both changes")
	w.changeConfig(func(c *v1alpha1.ValkeyConfigSpec) { c.Valkey["maxmemory-samples"] = "7" })
	w.awaitCluster("queue", "rolled", convergence, func(c *v1alpha1.ValkeyCluster) bool {
		return c.GetCondition(typeConverged).Reason != "WaitingForPlace" && !converged(c)
	})
	w.awaitConverged("queue", convergence)
	w.settle(nil)()
	mark("rolled; one shard more")
	w.scale(4, 1)()
	w.settle(nil)()
	mark("slots have moved; a primary is killed")
	w.signal(&w.primaries()[0].pod, syscall.SIGKILL)
	w.awaitCluster(w.cluster, "healing", time.Minute, func(c *v1alpha1.ValkeyCluster) bool { return !converged(c) })
	w.settle(nil)()
	mark("healed")
	w.finish()
	p.answer(w, marks)
}

// answer asks Prometheus all that the dashboard asks.
func (p *prometheus) answer(w *watched, marks []dashboard.Mark) {
	w.Helper()
	dir, err := root()
	if err != nil {
		w.Fatal(err)
	}
	panels, err := dashboard.Read(filepath.Join(dir, "docs", "monitoring", "dashboard.json"))
	if err != nil {
		w.Fatal(err)
	}
	titles := map[string]bool{}
	until := time.Now()
	variables := map[string]string{"namespace": w.name, "cluster": ".*"}
	var charts []dashboard.Chart
	for _, panel := range panels {
		titles[panel.Title] = true
		high := math.Inf(-1)
		chart := dashboard.Chart{Title: panel.Title, Unit: panel.Unit}
		for _, target := range panel.Targets {
			m, err := p.samples(w.Context(), target.Query(variables), until)
			if err != nil {
				w.Errorf("%s: %s: %v", panel.Title, target.Expr, err)
				continue
			}
			top := highest(m)
			if math.IsInf(top, -1) {
				w.Errorf("%s: nothing answers %s", panel.Title, target.Expr)
			}
			high = max(high, top)
			// A short run shows little of what is smoothed over five minutes.
			if m, err = p.samples(w.Context(), strings.ReplaceAll(target.Query(variables), "[5m]", "[20s]"), until); err != nil {
				w.Error(err)
			}
			chart.Series = append(chart.Series, series(target, m, w.name)...)
		}
		if slices.Contains(positive, panel.Title) && high <= 0 {
			w.Errorf("%s: all is zero", panel.Title)
		}
		if panel.Type == "timeseries" {
			charts = append(charts, chart)
		}
	}
	for _, title := range positive {
		if !titles[title] {
			w.Errorf("the dashboard has no panel %q", title)
		}
	}
	if to := os.Getenv(reportsVar); to != "" {
		title := fmt.Sprintf("The dashboard's panels, from a run of its test: cluster a of 3 shards with 1 replica, and queue of 1 shard, Valkey %s", newest)
		svg := dashboard.Draw(title, p.begin, until, charts, marks)
		if err := os.WriteFile(filepath.Join(to, "dashboard.svg"), []byte(svg), 0o600); err != nil {
			w.Error(err)
		}
	}
}

// highest returns the highest number of an answer, -Inf if it has none.
func highest(m model.Matrix) float64 {
	high := math.Inf(-1)
	for _, s := range m {
		for _, v := range s.Values {
			if f := float64(v.Value); !math.IsNaN(f) {
				high = max(high, f)
			}
		}
	}
	return high
}

// series are the lines of an answer.
func series(t dashboard.Target, m model.Matrix, namespace string) []dashboard.Series {
	var out []dashboard.Series
	for _, s := range m {
		labels := map[string]string{}
		for k, v := range s.Metric {
			labels[string(k)] = string(v)
		}
		line := dashboard.Series{Name: strings.ReplaceAll(t.Name(labels), namespace+"/", "")}
		for _, v := range s.Values {
			if f := float64(v.Value); !math.IsNaN(f) {
				line.Points = append(line.Points, dashboard.Point{At: v.Timestamp.Time(), Value: f})
			}
		}
		out = append(out, line)
	}
	return out
}
