//go:build server

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

package witness_test

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
	"github.com/crossplane-contrib/provider-valkey/test/witness"

	"github.com/valkey-io/valkey-go"
)

func start(t *testing.T, c *valkeyserver.Cluster) *witness.Witness {
	t.Helper()
	w, err := witness.Start(options(c))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func options(c *valkeyserver.Cluster) witness.Options {
	return witness.Options{Addrs: []string{address(c.Primaries[0])}, Rate: 1000, Keys: 500, Timeout: 2 * time.Second}
}

func address(s *valkeyserver.Server) string {
	return net.JoinHostPort(s.IP, strconv.Itoa(valkeyserver.Port))
}

func command(t *testing.T, s *valkeyserver.Server, args ...string) {
	t.Helper()
	c, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{address(s)}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(t.Context(), c.B().Arbitrary(args...).Build()).Error(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// A witness that finds nothing at a healthy cluster, but a loss where there is one, can be believed.
func TestServerWitness(t *testing.T) {
	c := valkeyserver.StartCluster(t, "9.1", 3, 0, valkeyserver.Options{})

	t.Run("Healthy", func(t *testing.T) {
		w := start(t, c)
		time.Sleep(2 * time.Second)
		w.Mark("nothing")
		r := w.Stop()
		t.Log(r)
		if s := r.Clean(); s != "" {
			t.Errorf("a healthy cluster is blamed for %s", s)
		}
		if r.Acked < 300 || r.Reads < 100 || r.Checked == 0 || len(r.Events) != 1 {
			t.Errorf("the witness did too little: %+v", r)
		}
	})

	t.Run("LossIsSeen", func(t *testing.T) {
		w := start(t, c)
		time.Sleep(time.Second)
		command(t, c.Primaries[1], "FLUSHALL")
		time.Sleep(200 * time.Millisecond)
		r := w.Stop()
		t.Log(r)
		if r.LostWrites == 0 || r.LostKeys == 0 || r.StaleReads == 0 || r.Vanished == 0 {
			t.Errorf("the loss of a third of all keys was not seen: %s", r)
		}
	})

	t.Run("ErrorsAreCounted", func(t *testing.T) {
		w := start(t, c)
		time.Sleep(500 * time.Millisecond)
		command(t, c.Primaries[2], "CONFIG", "SET", "maxmemory", "1")
		time.Sleep(500 * time.Millisecond)
		command(t, c.Primaries[2], "CONFIG", "SET", "maxmemory", "0")
		r := w.Stop()
		t.Log(r)
		if r.ErrorsByKind["OOM"] == 0 || r.Errors == 0 {
			t.Errorf("refused writes were not counted: %s", r)
		}
		if r.LostWrites+r.StaleReads+r.Regressions+r.Unverified != 0 {
			t.Errorf("refused writes were taken for lost ones: %s", r.Clean())
		}
	})

	t.Run("StallIsMeasured", func(t *testing.T) {
		w := start(t, c)
		time.Sleep(500 * time.Millisecond)
		command(t, c.Primaries[0], "CLIENT", "PAUSE", "700", "WRITE")
		time.Sleep(1500 * time.Millisecond)
		r := w.Stop()
		t.Log(r)
		if r.WorkerStall < 600*time.Millisecond || r.Stall < 300*time.Millisecond || r.Longest < 600*time.Millisecond {
			t.Errorf("a pause of 700ms shows as a stall of %s, of one worker %s", r.Stall, r.WorkerStall)
		}
		if len(r.Slowest) == 0 || r.Slowest[0].Took < 600*time.Millisecond || !slices.IsSortedFunc(r.Slowest, func(a, b witness.SlowOperation) int { return cmp.Compare(b.Took, a.Took) }) {
			t.Errorf("a pause of 700ms shows in none of the slowest operations: %v", r.Slowest)
		}
		if s := r.Clean(); s != "" {
			t.Errorf("a pause is taken for %s", s)
		}
	})

	t.Run("Dataset", func(t *testing.T) {
		cl, err := witness.NewClient(options(c))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		d := witness.NewDataset(cl, "d:", 17_000)
		if err := d.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if bad, err := d.Verify(t.Context()); bad != 0 || err != nil {
			t.Fatalf("%d keys differ at once: %v", bad, err)
		}
		command(t, c.Primaries[1], "FLUSHALL")
		if bad, err := d.Verify(t.Context()); bad < 5000 || err == nil {
			t.Errorf("%d keys differ after a third was deleted", bad)
		}
	})
}

func TestServerWitnessBounds(t *testing.T) {
	c := valkeyserver.StartCluster(t, "8.1", 1, 0, valkeyserver.Options{})
	o := options(c)
	o.MaxOps = 100
	w, err := witness.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.Done():
	case <-time.After(10 * time.Second):
		t.Error("the witness went on beyond its number of operations")
	}
	if r := w.Stop(); r.Ops > 100 || r.Clean() != "" {
		t.Errorf("bounded to 100 operations: %s", r)
	}
}
