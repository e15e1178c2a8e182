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

package sim

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

var (
	seeds = flag.Uint64("sim.seeds", 40, "number of seeds to simulate")
	first = flag.Uint64("sim.first", 1, "first seed")
	steps = flag.Int("sim.steps", 400, "steps of each seed before it may converge")
	trace = flag.Bool("sim.trace", false, "log every action of a run")
)

func TestSimulation(t *testing.T) {
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		total  int
		failed int
		slow   time.Duration
	)
	start := time.Now()
	next := *first
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				mu.Unlock()
				if seed >= *first+*seeds {
					return
				}
				s := New(seed, topology.Next)
				if *trace {
					s.Log = func(f string, a ...any) { fmt.Printf(f+"\n", a...) }
				}
				s.Run(*steps)
				mu.Lock()
				total += s.Steps
				slow = max(slow, s.Took)
				if len(s.Violations) > 0 {
					failed++
					t.Errorf("seed %d: %s", seed, s.Violations[0])
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Printf("simulation: %d seeds, %d steps, %d seeds with violations, slowest convergence %s simulated, took %s\n",
		*seeds, total, failed, slow.Round(time.Second), time.Since(start).Round(time.Millisecond))
}

func TestBootstrap(t *testing.T) {
	cases := map[string]struct {
		reason   string
		shards   int
		replicas int
	}{
		"1x0":  {reason: "A single node is a cluster.", shards: 1},
		"1x2":  {reason: "One shard may have replicas.", shards: 1, replicas: 2},
		"2x0":  {reason: "Two primaries are a cluster.", shards: 2},
		"3x0":  {reason: "Three primaries need no replicas.", shards: 3},
		"3x1":  {reason: "The usual shape.", shards: 3, replicas: 1},
		"3x2":  {reason: "More replicas than most.", shards: 3, replicas: 2},
		"5x1":  {reason: "Slots that do not divide evenly.", shards: 5, replicas: 1},
		"30x1": {reason: "A large cluster.", shards: 30, replicas: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Boot(tc.shards, tc.replicas, topology.Next)
			s.Run(0)
			if len(s.Violations) > 0 {
				t.Fatalf("%s\n%s", tc.reason, s.Violations[0])
			}
			if s.Took > time.Minute {
				t.Errorf("%s\nforming took %s of simulated time", tc.reason, s.Took)
			}
			t.Logf("formed in %s of simulated time", s.Took.Round(100*time.Millisecond))
		})
	}
}

// TestBootstrapKilled kills the provider after every single action of a bootstrap.
func TestBootstrapKilled(t *testing.T) {
	for k := 1; ; k++ {
		s := Boot(3, 1, topology.Next)
		s.KillAfter = k
		s.Run(0)
		if len(s.Violations) > 0 {
			t.Fatalf("killed after action %d: %s", k, s.Violations[0])
		}
		if s.acted < k {
			return
		}
	}
}

// TestScaling scales far out and back in with edits in between, without faults.
func TestScaling(t *testing.T) {
	s := Boot(3, 1, topology.Next)
	s.Run(0)
	for _, shards := range []int{16, 10, 3, 6, 3, 1} {
		s.goal.Shards, s.edited = shards, s.now
		clear(s.balanced)
		if len(s.Violations) == 0 && s.converge() {
			t.Logf("%d shards after %s of simulated time", shards, s.Took)
			s.stay()
		}
	}
	if len(s.Violations) > 0 {
		t.Fatal(s.Violations[0])
	}
}

// TestRegressions runs the seeds that once found a bug in the planner.
func TestRegressions(t *testing.T) {
	for _, seed := range []uint64{2, 4, 5, 6, 46, 54, 63, 88, 125, 206, 276, 284, 437, 590, 806, 866, 1245, 1614} {
		s := New(seed, topology.Next)
		s.Run(400)
		if len(s.Violations) > 0 {
			t.Errorf("seed %d: %s", seed, s.Violations[0])
		}
	}
}
