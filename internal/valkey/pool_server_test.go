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

package valkey_test

import (
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// An idle connection costs little memory here, no goroutine, and no commands on the server.
func TestServerIdleConnections(t *testing.T) {
	const n = 100
	s := valkeyserver.Start(t, "9.1", valkeyserver.Options{})
	must(t, s.Node().Ping(t.Context()))
	heap, goroutines := usage()
	p := valkey.NewPool(valkey.PoolOptions{MaxIdle: n})
	defer p.Close()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			// Commands at the same time take connections of their own.
			if _, err := s.NodeOf(p).CountKeys(t.Context(), make([]int, 1000)...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	open := clients(t, s)
	after, goroutinesAfter := usage()
	per := (int64(after) - int64(heap)) / int64(open)
	t.Logf("%d connections, %d bytes each, %d goroutines more", open, per, goroutinesAfter-goroutines)
	if per > 30<<10 {
		t.Errorf("a connection takes %d bytes", per)
	}
	if goroutinesAfter > goroutines {
		t.Errorf("idle connections take %d goroutines", goroutinesAfter-goroutines)
	}

	before := commands(t, s)
	<-time.After(2500 * time.Millisecond) // The client library would PING every second.
	if got := commands(t, s) - before; got > 1 {
		t.Errorf("idle connections sent %d commands", got-1)
	}

	p.Close()
	valkeyserver.Await(t, patience, "the connections to close", func() string {
		if got := clients(t, s); got > 2 {
			return strconv.Itoa(got) + " connections"
		}
		return ""
	})
}

func usage() (heap uint64, goroutines int) {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse, runtime.NumGoroutine()
}

func clients(t *testing.T, s *valkeyserver.Server) int {
	return number(t, s, "clients", "connected_clients")
}

func commands(t *testing.T, s *valkeyserver.Server) int {
	return number(t, s, "stats", "total_commands_processed")
}

func number(t *testing.T, s *valkeyserver.Server, section, field string) int {
	t.Helper()
	info, err := s.Node().Info(t.Context(), section)
	must(t, err)
	n, err := strconv.Atoi(info[field])
	must(t, err)
	return n
}
