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

package valkeycluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	vk "github.com/valkey-io/valkey-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// Slots that were lost with the only member that had them are served again, by one that
// has the functions of the others.
func TestLostSlotsAreServedAgain(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 3, 0)
		r.fill(valkey.SlotCount)
		for name := range r.pods {
			r.do(name, "FUNCTION", "LOAD", library)
		}
		victim := r.primary(0)
		r.kill(victim)
		r.converge()
		heir := r.primary(0)
		if heir == victim {
			t.Errorf("slot 0 is still held by %s, which is dead", victim)
		}
		if got := r.do(heir, "FCALL_RO", "answer", "0"); got != "42" {
			t.Errorf("a function of the cluster answers %s", got)
		}
		r.do(heir, "SET", "{"+witness.TagOf(0)+"}", "x")
		keys := int64(0)
		for name := range r.pods {
			st, err := r.servers[name].Node().State(t.Context())
			must(t, err)
			keys += st.Keys
		}
		if want := int64(valkey.SlotCount - valkey.SlotCount/3 + 1); keys < want {
			t.Errorf("%d keys are left, want at least %d: those of the other shards", keys, want)
		}
	})
}

// A cluster that lost a majority of its primaries, which cannot vote, works again
// with all data that replicas have.
func TestMajorityLost(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 3, 1)
		d := r.fill(valkey.SlotCount)
		for _, name := range []string{r.primary(0), r.primary(valkey.SlotCount - 1)} {
			r.kill(name)
		}
		r.converge()
		r.intact(d)
	})
}

// A server that is busy with a script answers no question and is not dead.
func TestBusyServerIsNotDead(t *testing.T) {
	const script = "local t = redis.call('TIME') local e = t[1] + 4 repeat t = redis.call('TIME') until t[1] + 0 >= e"
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 3, 1, setting("busy-reply-threshold", "100"))
		primary := r.primary(0)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = r.ask(primary, "EVAL", script, "0") })
		valkeyserver.Await(t, patience, "the server to be busy", func() string {
			if err := r.servers[primary].Node().Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "BUSY") {
				return fmt.Sprint(err)
			}
			return ""
		})
		if as := r.passes(2 * time.Second); len(as) > 0 {
			t.Errorf("a cluster with a busy primary is changed: %v", as)
		}
		wg.Wait()
		r.converge()
		if got := r.primary(0); got != primary {
			t.Errorf("slot 0 went from %s to %s", primary, got)
		}
	})
}

// A replacement of an older version that cannot read the data never takes over.
func TestDowngradeThatCannotSync(t *testing.T) {
	r := newRig(t, "9.1", 1, 0)
	primary := r.primary(0)
	_, _ = r.ask(primary, "HSETEX", "h", "EX", "1000", "FIELDS", "1", "f", "v")
	// Servers of both versions load this file.
	r.writeUsers("8.1")
	r.setVersion("8.1")
	r.until("a replacement to try", func(topology.Plan) bool { return len(r.pods) == 2 })
	for _, a := range r.passes(10 * time.Second) {
		switch a.(type) {
		case topology.Failover, topology.Retire:
			t.Errorf("the roll goes on without the data: %s", a)
		}
	}
	if got := r.do(primary, "HGET", "h", "f"); got != "v" || r.primary(0) != primary {
		t.Errorf("the field is %q, held by %s instead of %s", got, r.primary(0), primary)
	}
	r.setVersion("9.1")
	r.converge()
	if got := r.do(primary, "HGET", "h", "f"); got != "v" || len(r.pods) != 1 {
		t.Errorf("after going back the field is %q on %d members", got, len(r.pods))
	}
}

// A primary that hands over by itself when it is told to end, while the provider
// orders the same, has a successor that has everything.
func TestHandoverOrderedTwice(t *testing.T) {
	r := newRig(t, "9.1", 3, 1, setting("shutdown-on-sigterm", "failover"))
	d := r.fill(valkey.SlotCount)
	var addrs []string
	for name := range r.pods {
		addrs = append(addrs, r.servers[name].Addr)
	}
	w, err := witness.Start(witness.Options{Addrs: addrs, Rate: 500, Keys: 1000})
	must(t, err)
	report := sync.OnceValue(w.Stop)
	t.Cleanup(func() { report() })
	for range 5 {
		victim := r.primary(0)
		r.change(victim, func(n *node) { now := metav1.Now(); n.pod.DeletionTimestamp = &now })
		p := r.look()
		if err := syscall.Kill(r.servers[victim].PID(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Actions {
			if f, ok := a.(topology.Failover); ok {
				must(t, r.carryOut(f))
			}
		}
		<-r.servers[victim].Done()
		r.ended(victim)
		r.converge()
	}
	r.intact(d)
	if got := report(); got.LostWrites > 0 || got.Acked == 0 {
		t.Errorf("%d acknowledged writes are lost: %s", got.LostWrites, got)
	}
}

// A handover that another replica of the shard was told of meanwhile, by a provider
// that ended since, is not ordered: it would be a second one.
func TestHandoverOvertaken(t *testing.T) {
	r := newRig(t, "9.1", 3, 2)
	old := r.primary(0)
	first := r.replicaOf(old)
	second := r.replicaOf(old, first)
	shard := int(r.pods[old].obj.Spec.ShardIndex)
	must(t, r.servers[first].Node().Failover(t.Context(), valkey.FailoverDefault))
	valkeyserver.Await(t, 10*time.Second, "the second replica to follow the first one", func() string {
		return r.notFollowing(second, first)
	})
	// What the provider found is from before.
	must(t, r.carryOut(topology.Failover{Node: second, Mode: topology.FailoverDefault, Shard: shard, Old: old}))
	r.converge()
	r.passes(2 * time.Second)
	if got := r.primary(0); got != first {
		t.Errorf("after %s had taken over from %s, %s took over from it", first, old, got)
	}
}

// Users of running servers change, and go while they are logged in, under traffic and
// without a server that ends.
func TestUsersChangeUnderTraffic(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 1, 1)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for name := range r.pods {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						_, _ = r.ask(name, "AUTH", "app", "secret")
					}
				}
			})
		}
		for i := range 20 {
			r.look()
			r.e.found.resolved = &resolved{}
			if i%2 == 0 {
				r.e.found.resolved.users = []acl.User{{Name: acl.DefaultUser, Rules: []string{"reset", "on", "nopass", "~*", "&*", "+@all"}}, {Name: "app", Rules: []string{"reset", "on", ">secret", "~*", "+@all"}}}
			}
			for _, n := range r.e.found.nodes {
				must(t, r.e.applyACL(t.Context(), r.c, n))
			}
		}
		close(stop)
		wg.Wait()
		r.converge()
		for name := range r.pods {
			select {
			case <-r.servers[name].Done():
				t.Errorf("%s ended", name)
			default:
			}
		}
	})
}

// Somebody changes users by hand just between our look at a server and our
// change, or just after it. Either is found by a later pass.
func TestDriftIsFoundWhileUsersChange(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 1, 0)
		r.look()
		name := r.primary(0)
		n := r.e.found.nodes[0]
		for _, when := range []string{"before", "after"} {
			if when == "after" {
				must(t, r.e.applyACL(t.Context(), r.c, n))
			}
			if _, err := r.ask(name, "ACL", "SETUSER", "backdoor", "on", "nopass", "~*", "+@all"); err != nil {
				t.Fatal(err)
			}
			if when == "before" {
				must(t, r.e.applyACL(t.Context(), r.c, n))
			}
			valkeyserver.Await(t, patience, "the user made just "+when+" ours were set is gone", func() string {
				r.pass()
				users, err := r.servers[name].Node().ACLUsers(t.Context())
				must(t, err)
				return strings.Join(slices.DeleteFunc(users, func(u string) bool { return u != "backdoor" }), " ")
			})
		}
	})
}

// The provider's own user cannot delete keys, empty or end a server, or load the ACL
// file, on which some versions crash.
func TestProviderCannotDestroy(t *testing.T) {
	commands := [][]string{
		{"FLUSHALL"}, {"FLUSHDB"}, {"DEL", "k"}, {"UNLINK", "k"}, {"SET", "k", "v"}, {"RESTORE", "k", "0", "x"}, {"EVAL", "return 1", "0"},
		{"CLUSTER", "RESET", "HARD"}, {"CLUSTER", "FLUSHSLOTS"}, {"CLUSTER", "DELSLOTS", "1"}, {"CLUSTER", "DELSLOTSRANGE", "1", "2"},
		{"SHUTDOWN", "NOSAVE"}, {"REPLICAOF", "NO", "ONE"}, {"ACL", "LOAD"}, {"ACL", "SAVE"}, {"FUNCTION", "FLUSH"}, {"SWAPDB", "0", "1"},
	}
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 1, 0)
		c, err := vk.NewClient(vk.ClientOption{
			InitAddress: []string{r.servers[r.primary(0)].Addr}, ForceSingleClient: true, DisableCache: true,
			Username: operatorUser, Password: r.e.keys.logins[0],
		})
		must(t, err)
		t.Cleanup(c.Close)
		for _, args := range commands {
			err := c.Do(t.Context(), c.B().Arbitrary(args...).Build()).Error()
			if err == nil || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("%v as %s: got error %v, want NOPERM", args, operatorUser, err)
			}
		}
	})
}
