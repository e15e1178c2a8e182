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

package valkeyserver

import (
	"testing"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

func TestServersEndWithTheirTest(t *testing.T) {
	for _, version := range Versions() {
		var s, other *Server
		t.Run(version, func(t *testing.T) {
			s, other = Start(t, version, Options{}), Start(t, version, Options{})
			// A stopped process must not outlive its test either.
			other.Pause()
		})
		if s.IP == other.IP {
			t.Errorf("two servers on %s", s.IP)
		}
		for _, s := range []*Server{s, other} {
			<-s.Done()
			if !free(s.IP, Port) {
				t.Errorf("somebody still listens on %s", s.Addr)
			}
		}
	}
}

func TestStartCluster(t *testing.T) {
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) {
			c := StartCluster(t, version, 2, 1, Options{TLS: NewTLS(t, "valkey.example")})
			if got := len(c.Servers()); got != 4 || len(c.IDs) != 4 {
				t.Errorf("Servers(): %d servers, %d ids", got, len(c.IDs))
			}
			for i, r := range c.Replicas {
				st, err := r[0].Node().State(t.Context())
				must(t, err)
				if me := st.Myself(); me.PrimaryID != c.IDs[c.Primaries[i]] {
					t.Errorf("the replica of shard %d follows %s", i, me.PrimaryID)
				}
			}
			conf, err := c.Primaries[0].Node().ConfigGet(t.Context(), "cluster-node-timeout")
			must(t, err)
			if conf["cluster-node-timeout"] != nodeTimeout {
				t.Errorf("cluster-node-timeout: %s", conf["cluster-node-timeout"])
			}
			if got := valkey.CountSlots(mySlots(t, c.Primaries[0])); got != valkey.SlotCount/2 {
				t.Errorf("the first primary has %d slots", got)
			}
		})
	}
}

func mySlots(t *testing.T, s *Server) []valkey.SlotRange {
	t.Helper()
	st, err := s.Node().State(t.Context())
	must(t, err)
	return st.Myself().Slots
}
