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

package valkeysim_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
	"github.com/crossplane-contrib/provider-valkey/test/valkeysim"
)

const patience = 10 * time.Second

// A world is a Sim with the provider's client.
type world struct {
	*valkeysim.Sim
	pool   *valkey.Pool
	orders chan valkeysim.Order
	ips    []netip.Addr
	nodes  []*valkey.Node
}

// newWorld starts servers, each with a user "operator".
func newWorld(t *testing.T, n int) *world {
	t.Helper()
	w := &world{pool: valkey.NewPool(valkey.PoolOptions{}), orders: make(chan valkeysim.Order, 100)}
	t.Cleanup(w.pool.Close)
	w.Sim = valkeysim.New(func(o valkeysim.Order) { w.orders <- o })
	sum := sha256.Sum256([]byte("secret"))
	for i := range n {
		ip := netip.AddrFrom4([4]byte{127, 0, 6, byte(i + 1)})
		l, err := net.Listen("tcp4", netip.AddrPortFrom(ip, 0).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() { _ = w.Serve(l) }()
		w.Start(ip, valkeysim.Options{Version: "9.1.2", Users: "user default reset off\nuser operator reset on #" + hex.EncodeToString(sum[:]) + " ~* +@all\n"})
		w.ips = append(w.ips, ip)
		w.nodes = append(w.nodes, w.pool.Node(valkey.Endpoint{Addr: l.Addr().String()}, valkey.Credentials{Username: "operator", Password: "secret"}, nil))
	}
	return w
}

func (w *world) state(t *testing.T, i int) *valkey.State {
	t.Helper()
	st, err := w.nodes[i].State(t.Context())
	must(t, err)
	return st
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// form makes the servers one shard: the first is primary.
func (w *world) form(t *testing.T) {
	t.Helper()
	must(t, w.nodes[0].SetConfigEpoch(t.Context(), 1))
	must(t, w.nodes[0].AddSlots(t.Context(), []valkey.SlotRange{{Start: 0, End: valkey.SlotCount - 1}}))
	id, err := w.nodes[0].MyID(t.Context())
	must(t, err)
	for i := 1; i < len(w.nodes); i++ {
		must(t, w.nodes[0].Meet(t.Context(), w.ips[i].String(), 6379))
		must(t, w.nodes[i].Replicate(t.Context(), id))
	}
	valkeyserver.Await(t, patience, "replicas follow", func() string {
		for i := 1; i < len(w.nodes); i++ {
			if !w.state(t, i).Replication.LinkUp {
				return strconv.Itoa(i)
			}
		}
		return ""
	})
}

// TestForm forms a cluster as the provider does, and looks at it from every server.
func TestForm(t *testing.T) {
	w := newWorld(t, 3)
	if st := w.state(t, 0); st.ClusterOK || st.KnownNodes != 1 || st.Version != "9.1.2" {
		t.Errorf("alone: %+v", st)
	}
	w.form(t)
	var first []valkey.PeerNode
	for i := range w.nodes {
		st := w.state(t, i)
		if !st.ClusterOK || st.KnownNodes != 3 || st.SlotsAssigned != valkey.SlotCount || st.MyEpoch != 1 {
			t.Errorf("server %d: %+v", i, st)
		}
		if (st.Replication.Role == valkey.RolePrimary) != (i == 0) {
			t.Errorf("server %d is %s", i, st.Replication.Role)
		}
		for j := range st.Nodes {
			st.Nodes[j].Myself = false
		}
		if i == 0 {
			first = st.Nodes
			continue
		}
		if diff := cmp.Diff(first, st.Nodes); diff != "" {
			t.Errorf("views of servers 0 and %d: -want, +got:\n%s", i, diff)
		}
	}
	if n := len(w.state(t, 0).Replication.Replicas); n != 2 {
		t.Errorf("the primary has %d replicas", n)
	}
}

// TestDeath ends a primary: a watch hears of it, the links to it are down, a replica is promoted, the dead one forgotten.
func TestDeath(t *testing.T) {
	w := newWorld(t, 3)
	w.form(t)
	ended, err := w.nodes[0].Watch(t.Context())
	must(t, err)
	dead := w.state(t, 0).ID
	w.Stop(w.ips[0])
	if inOrder, told := <-ended; !inOrder || !told {
		t.Errorf("the watch ended in order: %t, told: %t", inOrder, told)
	}
	if _, err := w.nodes[0].State(t.Context()); !valkey.IsUnreachable(err) {
		t.Errorf("the dead server: %v", err)
	}
	st := w.state(t, 1)
	if p := st.Node(dead); p == nil || p.LinkUp || st.Replication.LinkUp {
		t.Errorf("a replica's view: %+v", st)
	}
	if err := w.nodes[1].Failover(t.Context(), valkey.FailoverDefault); !valkey.IsPrimaryDown(err) {
		t.Errorf("a default failover: %v", err)
	}
	// The only primary is dead: there is no majority.
	must(t, w.nodes[1].Failover(t.Context(), valkey.FailoverForce))
	if w.Primary(w.ips[1]) {
		t.Error("a failover without a majority was granted")
	}
	must(t, w.nodes[1].Failover(t.Context(), valkey.FailoverTakeover))
	if !w.Primary(w.ips[1]) {
		t.Error("the replica was not promoted")
	}
	for _, want := range []string{"", "FORCE", "TAKEOVER"} {
		if o := <-w.orders; o.Mode != want || o.Server != w.ips[1] {
			t.Errorf("order: %+v, want mode %q", o, want)
		}
	}
	for i := 1; i < 3; i++ {
		must(t, w.nodes[i].Forget(t.Context(), dead))
		if w.state(t, i).Node(dead) != nil {
			t.Errorf("server %d has not forgotten", i)
		}
	}
}

// TestHandOver promotes a replica in agreement with its primary.
func TestHandOver(t *testing.T) {
	w := newWorld(t, 3)
	w.form(t)
	must(t, w.nodes[1].Failover(t.Context(), valkey.FailoverDefault))
	if w.Primary(w.ips[0]) || !w.Primary(w.ips[1]) {
		t.Error("the roles have not changed")
	}
	if st := w.state(t, 1); st.MyEpoch != 2 {
		t.Errorf("epoch is %d", st.MyEpoch)
	}
	for _, i := range []int{0, 2} {
		if got := w.state(t, i).Myself().PrimaryID; got != w.state(t, 1).ID {
			t.Errorf("server %d follows %s", i, got)
		}
	}
}

// TestUsers changes users in a transaction and looks who may still log in.
func TestUsers(t *testing.T) {
	w := newWorld(t, 1)
	ctx := t.Context()
	lines, err := w.nodes[0].ACLList(ctx)
	must(t, err)
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "user operator on #") {
		t.Errorf("users: %q", lines)
	}
	as := func(user, password string) error {
		n := w.pool.Node(valkey.Endpoint{Addr: w.nodes[0].Addr()}, valkey.Credentials{Username: user, Password: password}, nil)
		return n.Ping(ctx)
	}
	if err := as("operator", "wrong"); !valkey.IsAuth(err) {
		t.Errorf("a wrong password: %v", err)
	}
	must(t, w.nodes[0].ACLSetUser(ctx, "other", "reset", "on", "nopass"))
	must(t, as("other", "any"))
	must(t, w.nodes[0].ACLDelUser(ctx, "other"))
	if err := as("other", "any"); !valkey.IsAuth(err) {
		t.Errorf("a user that is gone: %v", err)
	}
	if err := as("", ""); !valkey.IsAuth(err) {
		t.Errorf("nobody: %v", err)
	}
}

// TestSettings reads and changes settings.
func TestSettings(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	must(t, w.nodes[0].ConfigSet(ctx, map[string]string{"cluster-node-timeout": "500", "primaryauth": "x"}))
	got, err := w.nodes[0].ConfigGet(ctx, "cluster-node-timeout", "repl-diskless-sync-delay", "no-such")
	must(t, err)
	want := map[string]string{"cluster-node-timeout": "500", "repl-diskless-sync-delay": "5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ConfigGet(...): -want, +got:\n%s", diff)
	}
	st, care, err := w.nodes[0].Look(ctx, "cluster-node-timeout", "repl-diskless-sync-delay")
	must(t, err)
	if diff := cmp.Diff(want, care.Settings); diff != "" || len(care.Users) != 2 || st.KnownNodes != 1 {
		t.Errorf("Look(...): %+v, %q, -want, +got:\n%s", st, care.Users, diff)
	}
}
