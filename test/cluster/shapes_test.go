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
	"fmt"
	"testing"
	"time"
)

// A shape is how many shards a cluster has and how many replicas each.
type shape struct{ shards, replicas int }

func (s shape) String() string { return fmt.Sprintf("%dx%d", s.shards, s.replicas) }

func (s shape) pods() int { return s.shards * (s.replicas + 1) }

func TestShapes(t *testing.T) {
	t.Parallel()
	type entry struct {
		shape   shape
		version string
	}
	some := map[entry]bool{
		{shape{1, 0}, "8.0"}: true,
		{shape{1, 2}, "9.1"}: true,
		{shape{2, 0}, "8.1"}: true,
		{shape{3, 0}, "9.1"}: true,
		{shape{3, 1}, "8.0"}: true,
		{shape{3, 1}, "9.1"}: true,
		{shape{3, 2}, "8.1"}: true,
		{shape{5, 1}, "9.1"}: true,
	}
	for _, sh := range []shape{{1, 0}, {1, 2}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {5, 1}} {
		for _, v := range versions {
			if !*full && !some[entry{sh, v}] {
				continue
			}
			t.Run(sh.String()+"/"+v, func(t *testing.T) {
				t.Parallel()
				s := newSpace(t, sh.pods())
				s.run("a", menu(v), sh.shards, sh.replicas)
				d := s.awaitActive("a", 90*time.Second)
				s.verify("a")
				t.Logf("Active after %s", d.Round(100*time.Millisecond))
			})
		}
	}
}

func TestThirtyShards(t *testing.T) {
	if !*full {
		t.Skip("Without -cluster.full.")
	}
	sh := shape{30, 1}
	s := newSpace(t, sh.pods())
	s.run("a", menu(newest), sh.shards, sh.replicas)
	d := s.awaitActive("a", 5*time.Minute)
	s.verify("a")
	t.Logf("Active after %s", d.Round(100*time.Millisecond))
}
