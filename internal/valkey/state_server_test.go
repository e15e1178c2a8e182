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
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

func TestServerStateOfLonelyServer(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := valkeyserver.Start(t, version, valkeyserver.Options{Conf: map[string]string{"maxmemory": "64mb"}})
		id, err := s.Node().MyID(t.Context())
		must(t, err)
		// Twice: the second time it is known whether the version has migrations.
		for range 2 {
			st := state(t, s)
			if !strings.HasPrefix(st.Version, version+".") || st.RunID == "" || st.Uptime > time.Minute || st.UsedMemory == 0 || st.MaxMemory != 64<<20 {
				t.Errorf("State(...): %+v", st)
			}
			if st.ID != id || st.ClusterOK || st.Loading || st.KnownNodes != 1 || st.SlotsAssigned != 0 || st.Keys != 0 || st.Migrations != nil {
				t.Errorf("State(...): %+v", st)
			}
			me := valkey.PeerNode{ID: id, IP: s.IP, Port: valkeyserver.Port, BusPort: valkeyserver.Port + 10000, Myself: true, Primary: true, LinkUp: true}
			if diff := cmp.Diff([]valkey.PeerNode{me}, st.Nodes); diff != "" {
				t.Errorf("Nodes: -want, +got:\n%s", diff)
			}
		}
		info, err := s.Node().Info(t.Context(), "server")
		must(t, err)
		if info["valkey_version"] == "" || info["role"] != "" {
			t.Errorf("Info(server): %v", info)
		}
	})
}

func TestServerLook(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := valkeyserver.Start(t, version, valkeyserver.Options{Conf: map[string]string{"maxmemory": "64mb"}})
		want := state(t, s)
		users, err := s.Node().ACLList(t.Context())
		must(t, err)
		// Twice: the second time it is known whether the version has migrations.
		for range 2 {
			st, care, err := s.Node().Look(t.Context(), "maxmemory", "no-such")
			must(t, err)
			if diff := cmp.Diff(valkey.Care{Settings: map[string]string{"maxmemory": "67108864"}, Users: users}, care); diff != "" {
				t.Errorf("Look(...): -want, +got:\n%s", diff)
			}
			if st.ID != want.ID || st.RunID != want.RunID || st.MaxMemory != 64<<20 || len(st.Nodes) != 1 {
				t.Errorf("Look(...): %+v", st)
			}
		}
	})
}

func TestServerStateWithoutAddress(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := valkeyserver.Start(t, version, valkeyserver.Options{Conf: map[string]string{"cluster-announce-ip": ""}})
		if me := state(t, s).Myself(); me.IP != "" || me.Port != valkeyserver.Port {
			t.Errorf("Myself(): %+v", me)
		}
	})
}

func TestServerStateOfCluster(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		c := valkeyserver.StartCluster(t, version, 3, 1, valkeyserver.Options{})
		open(t, c.Primaries[0]).do(t, "SET", "{06S}x", "1") // Slot 0.
		p, r := c.Primaries[0], c.Replicas[0][0]
		awaitState(t, r, "the replica to have the key", func(st *valkey.State) bool { return st.Keys == 1 })
		for _, s := range c.Servers() {
			st := state(t, s)
			if st.ID != c.IDs[s] || !st.ClusterOK || st.KnownNodes != 6 || len(st.Nodes) != 6 || st.SlotsAssigned != valkey.SlotCount {
				t.Errorf("State(...) of %s: %+v", s.Addr, st)
			}
			if got := st.Node(c.IDs[r]); got == nil || got.PrimaryID != c.IDs[p] || got.Primary || !got.Healthy() || got.IP != r.IP {
				t.Errorf("the replica in the view of %s: %+v", s.Addr, got)
			}
			if got := st.Node(c.IDs[p]); got == nil || !got.Primary || valkey.FormatSlotRanges(got.Slots) != "0-5460" {
				t.Errorf("the primary in the view of %s: %+v", s.Addr, got)
			}
		}
		primary, replica := state(t, p).Replication, state(t, r).Replication
		if primary.Role != valkey.RolePrimary || len(primary.Replicas) != 1 || primary.Offset == 0 {
			t.Fatalf("Replication of the primary: %+v", primary)
		}
		if got := primary.Replicas[0]; got.IP != r.IP || got.Port != valkeyserver.Port || got.State != "online" {
			t.Errorf("Replicas: %+v", got)
		}
		if replica.Role != valkey.RoleReplica || replica.PrimaryHost != p.IP || replica.PrimaryPort != valkeyserver.Port || !replica.LinkUp ||
			replica.SyncInProgress || replica.Offset == 0 || replica.ReceivedOffset < replica.Offset || replica.ID != primary.ID {
			t.Errorf("Replication of the replica: %+v", replica)
		}
	})
}

func TestServerStateWhileLoading(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := valkeyserver.Start(t, version, valkeyserver.Options{
			// Every key takes 5 ms to load, and the server answers in between.
			Conf: map[string]string{"key-load-delay": "5000", "loading-process-events-interval-bytes": "1024"},
		})
		must(t, s.Node().AddSlots(t.Context(), []valkey.SlotRange{{Start: 0, End: valkey.SlotCount - 1}}))
		awaitState(t, s, "a cluster of one", func(st *valkey.State) bool { return st.ClusterOK })
		id := state(t, s).ID
		d := open(t, s)
		for range 1000 {
			d.do(t, "RPUSH", "{x}"+time.Now().String(), strings.Repeat("v", 500))
		}
		d.do(t, "SAVE")
		s.Kill()
		s.StartLoading(t)
		valkeyserver.Await(t, patience, "the server to load", func() string {
			st, err := s.Node().State(t.Context())
			switch {
			case err != nil:
				return err.Error()
			case !st.Loading:
				return "not loading"
			case st.Version == "" || st.ID != id || len(st.Nodes) != 1:
				t.Errorf("State(...): %+v", st)
			}
			return ""
		})
		want(t, s.Node().Ping(t.Context()), valkey.IsLoading, s.Addr)
	})
}

func TestServerTLSAndUsers(t *testing.T) {
	const acl = "user default off\n" +
		"user admin on >secret ~* &* +@all\n" +
		"user little on >little ~* &* -@all +ping +info +cluster|info +cluster|nodes\n" +
		"user repl on >repl resetchannels -@all +psync +replconf +ping\n"
	onEveryVersion(t, func(t *testing.T, version string) {
		keys := valkeyserver.NewTLS(t, "valkey.example")
		c := valkeyserver.StartCluster(t, version, 1, 1, valkeyserver.Options{
			TLS: keys, ACL: acl, Credentials: valkey.Credentials{Username: "admin", Password: "secret"},
			Conf: map[string]string{"primaryuser": "repl", "primaryauth": "repl"},
		})
		s := c.Primaries[0]
		p := valkey.NewPool(valkey.PoolOptions{})
		t.Cleanup(p.Close)
		ping := func(e valkey.Endpoint, cr valkey.Credentials) error {
			return p.Node(e, cr, s.TLSConfig()).Ping(t.Context())
		}
		admin := valkey.Credentials{Username: "admin", Password: "secret"}

		must(t, ping(s.Endpoint(), admin))
		// A connection of one user must never serve another.
		want(t, ping(s.Endpoint(), valkey.Credentials{Username: "admin", Password: "wrong"}), valkey.IsAuth, s.Addr)
		want(t, ping(s.Endpoint(), valkey.Credentials{Username: "nobody", Password: "x"}), valkey.IsAuth, s.Addr)
		want(t, ping(s.Endpoint(), valkey.Credentials{}), valkey.IsAuth, s.Addr)
		want(t, ping(valkey.Endpoint{Addr: s.Addr, ServerName: "other.example"}, admin), valkey.IsTLS, s.Addr)
		want(t, p.Node(s.Endpoint(), admin, valkeyserver.NewTLS(t, "valkey.example").Config(t)).Ping(t.Context()), valkey.IsTLS, s.Addr)
		noCert := s.TLSConfig().Clone()
		noCert.Certificates = nil
		// In TLS 1.3 our side is done before the server has looked: its alert comes late, or only the reset after it.
		want(t, p.Node(s.Endpoint(), admin, noCert).Ping(t.Context()), func(err error) bool {
			return valkey.IsNotSent(err) && (valkey.IsTLS(err) || valkey.IsUnreachable(err))
		}, s.Addr)
		// Without TLS the server does not understand us and closes.
		want(t, ping(valkey.Endpoint{Addr: s.Addr}, admin), valkey.IsUnreachable, s.Addr)

		little := p.Node(s.Endpoint(), valkey.Credentials{Username: "little", Password: "little"}, s.TLSConfig())
		st, err := little.State(t.Context())
		must(t, err)
		if st.ID != c.IDs[s] || st.Migrations != nil {
			t.Errorf("State(...) of a user that may not see migrations: %+v", st)
		}
		_, err = little.ACLList(t.Context())
		want(t, err, valkey.IsNoPerm, s.Addr)
	})
}

func TestServerWithoutTLS(t *testing.T) {
	s := valkeyserver.Start(t, "9.1", valkeyserver.Options{})
	keys := valkeyserver.NewTLS(t, "valkey.example")
	p := valkey.NewPool(valkey.PoolOptions{})
	t.Cleanup(p.Close)
	err := p.Node(valkey.Endpoint{Addr: s.Addr, ServerName: "valkey.example"}, valkey.Credentials{}, keys.Config(t)).Ping(context.Background())
	t.Logf("TLS to a server without: %v", err)
	if err == nil || !valkey.IsNotSent(err) {
		t.Errorf("Ping(...): %v", err)
	}
}

func TestServerUnreachable(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := valkeyserver.Start(t, version, valkeyserver.Options{})
		p := valkey.NewPool(valkey.PoolOptions{DialTimeout: 300 * time.Millisecond, CommandTimeout: 300 * time.Millisecond})
		t.Cleanup(p.Close)
		n := s.NodeOf(p)
		must(t, n.Ping(t.Context()))

		s.Pause()
		for _, what := range []string{"pooled connection", "new connection"} {
			start := time.Now()
			_, err := n.State(t.Context())
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s to a stopped server: took %s", what, took)
			}
			want(t, err, valkey.IsTimeout, s.Addr)
			want(t, err, valkey.IsUnreachable, s.Addr)
		}
		s.Resume()
		valkeyserver.Await(t, patience, "the server to go on", func() string {
			if err := n.Ping(t.Context()); err != nil {
				return err.Error()
			}
			return ""
		})

		ended, err := n.Watch(t.Context())
		must(t, err)
		s.Kill()
		start := time.Now()
		if inOrder := <-ended; !inOrder {
			t.Error("a killed server did not end its connection in order")
		}
		t.Logf("heard of the death after %s", time.Since(start))
		err = n.Ping(t.Context())
		want(t, err, valkey.IsRefused, s.Addr)
		want(t, err, valkey.IsUnreachable, s.Addr)

		s.StartAgain(t)
		must(t, n.Ping(t.Context()))
		// The pooled connection is of the old process.
		s.Kill()
		s.StartAgain(t)
		must(t, n.Ping(t.Context()))

		if _, _, err := net.SplitHostPort(n.Addr()); err != nil {
			t.Error(err)
		}
	})
}

func TestServerStats(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := valkeyserver.Start(t, version, valkeyserver.Options{Conf: map[string]string{"maxmemory": "4mb", "maxmemory-policy": "allkeys-lru"}})
		must(t, s.Node().AddSlots(t.Context(), []valkey.SlotRange{{Start: 0, End: valkey.SlotCount - 1}}))
		if st := state(t, s); st.Stats != nil {
			t.Errorf("Stats without having asked: %+v", st.Stats)
		}
		awaitState(t, s, "a cluster of one", func(st *valkey.State) bool { return st.ClusterOK })
		d := open(t, s)
		d.do(t, "SET", "{x}a", "1")
		for range 3 {
			d.do(t, "EXISTS", "{x}a")
		}
		d.do(t, "EXISTS", "{x}nothing")
		for i := range 100 {
			d.do(t, "SET", "{x}"+strings.Repeat("k", i), strings.Repeat("v", 100_000))
		}
		p := valkey.NewPool(valkey.PoolOptions{Stats: true})
		t.Cleanup(p.Close)
		st, err := s.NodeOf(p).State(t.Context())
		must(t, err)
		got := st.Stats
		if got == nil {
			t.Fatal("no Stats")
		}
		if got.Hits != 3 || got.Misses != 1 || got.Clients < 2 || got.Commands < 105 || got.Evicted == 0 {
			t.Errorf("Stats: %+v", *got)
		}
	})
}
