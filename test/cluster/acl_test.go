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
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	vk "github.com/valkey-io/valkey-go"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// live is how long a change of users may take at most until every node has it.
const live = 5 * time.Second

// hashOf is how a binding names a password.
func hashOf(password string) v1alpha1.PasswordHash {
	sum := sha256.Sum256([]byte(password))
	return v1alpha1.PasswordHash(hex.EncodeToString(sum[:]))
}

// user binds a user with a password to a role, for all keys and channels.
func user(name, password, role string) v1alpha1.ACLBinding {
	return v1alpha1.ACLBinding{
		Username: name, PasswordHashes: []v1alpha1.PasswordHash{hashOf(password)},
		Permissions: []v1alpha1.Permission{{RoleRef: role, Keys: []v1alpha1.KeyPattern{{Pattern: "*"}}, Channels: []v1alpha1.ChannelPattern{"*"}}},
	}
}

// bind replaces the bindings of a cluster.
func (s *space) bind(cluster string, bindings ...v1alpha1.ACLBinding) func() {
	return func() {
		s.Helper()
		s.edit(cluster, func(c *v1alpha1.ValkeyCluster) { c.Spec.ACL = bindings })
	}
}

// everywhere awaits that something holds on every member, and returns how long
// after a change was begun that was.
func (s *space) everywhere(cluster, what string, change func(), ok func(context.Context, *valkey.Node) (bool, error)) time.Duration {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Duration(float64(45*time.Second)**patience))
	defer cancel()
	ps, err := s.pods(ctx, cluster)
	if err != nil {
		s.Fatal(err)
	}
	var servers []*valkey.Node
	for i := range ps {
		n, err := s.server(ctx, cluster, &ps[i])
		if err != nil {
			s.Fatal(err)
		}
		servers = append(servers, n)
	}
	begin := time.Now()
	change()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; i < len(servers); {
		done, err := ok(ctx, servers[i])
		if done {
			i++
			continue
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s: not on %s after %s: %v", what, ps[i].Name, time.Since(begin), err)
		case <-tick.C:
		}
	}
	d := time.Since(begin)
	s.Logf("%s: on every member after %s", what, d.Round(time.Millisecond))
	return d
}

// may holds where a user may run a command.
func may(user string, allowed bool, args ...string) func(context.Context, *valkey.Node) (bool, error) {
	return func(ctx context.Context, n *valkey.Node) (bool, error) {
		why, err := n.ACLDryRun(ctx, user, args...)
		return err == nil && (why == "") == allowed, err
	}
}

// exists holds where a user exists, or not.
func exists(user string, want bool) func(context.Context, *valkey.Node) (bool, error) {
	return func(ctx context.Context, n *valkey.Node) (bool, error) {
		_, ok, err := n.ACLGetUser(ctx, user)
		return err == nil && ok == want, err
	}
}

// accepts holds where a user has just this password.
func accepts(user, password string) func(context.Context, *valkey.Node) (bool, error) {
	return func(ctx context.Context, n *valkey.Node) (bool, error) {
		u, ok, err := n.ACLGetUser(ctx, user)
		return err == nil && ok && slices.Equal(u.Passwords, []string{string(hashOf(password))}), err
	}
}

// TestACLLive changes who may do what on a running cluster while a user whom
// none of it concerns writes, reads, pipelines and listens.
func TestACLLive(t *testing.T) {
	onVersions(t, testACLLive)
}

func testACLLive(t *testing.T, version string) {
	s := newSpace(t, 6)
	all := s.global("all", role())
	some := &v1alpha1.ValkeyRole{Spec: v1alpha1.ValkeyRoleSpec{Commands: []v1alpha1.CommandRule{{Name: "get", Access: v1alpha1.AccessAllow}}}}
	s.global("some", some)
	s.config("config", v1alpha1.ValkeyConfigSpec{BaseRef: menu(version)})
	s.run("a", s.own("config"), 3, 1)
	s.awaitConverged("a", 90*time.Second)
	s.verify("a")
	pods := s.podUIDs("a")

	anybody := s.intruders("a", valkey.Credentials{})
	app := user("app", "pw", all)
	s.everywhere("a", "the first binding closes default", s.bind("a", app), may("default", false, "PING"))
	anybody.out("who came before there were users")
	s.refused("a", valkey.Credentials{})

	w := s.untouched("a", "app", "pw")
	var times []time.Duration
	timed := func(what string, change func(), ok func(context.Context, *valkey.Node) (bool, error)) {
		t.Helper()
		times = append(times, s.everywhere("a", what, change, ok))
	}

	second := user("second", "first", s.own("some"))
	timed("a binding is added", s.bind("a", app, second), may("second", true, "GET", "k"))
	timed("a role permits more", func() { s.permit(some, "set", v1alpha1.AccessAllow) }, may("second", true, "SET", "k", "v"))
	timed("a role permits less", func() { s.permit(some, "set", v1alpha1.AccessDeny) }, may("second", false, "SET", "k", "v"))
	second.Permissions[0].Keys[0].Pattern = "mine:*"
	timed("a binding permits less", s.bind("a", app, second), may("second", false, "GET", "k"))
	menuACL := func(bindings ...v1alpha1.ACLBinding) func() {
		return func() {
			s.config("config", v1alpha1.ValkeyConfigSpec{BaseRef: menu(version), ACL: &bindings})
		}
	}
	timed("the config binds a user", menuACL(user("third", "pw", all)), may("third", true, "SET", "k", "v"))
	fourth := user("fourth", "pw", all)
	timed("the config binds another user instead", menuACL(fourth), exists("third", false))

	open := s.intruders("a", valkey.Credentials{Username: "second", Password: "first"})
	second.PasswordHashes = []v1alpha1.PasswordHash{hashOf("first"), hashOf("next")}
	s.everywhere("a", "a second password is added", s.bind("a", app, second), func(ctx context.Context, n *valkey.Node) (bool, error) {
		u, _, err := n.ACLGetUser(ctx, "second")
		return len(u.Passwords) == 2, err
	})
	open.in("whose password is still good")
	second.PasswordHashes = second.PasswordHashes[1:]
	timed("the first password is removed", s.bind("a", app, second), accepts("second", "next"))
	open.out("whose password was removed")
	s.refused("a", valkey.Credentials{Username: "second", Password: "first"})

	open = s.intruders("a", valkey.Credentials{Username: "second", Password: "next"})
	timed("a binding is removed", s.bind("a", app), exists("second", false))
	open.out("who was removed")

	s.drift("a")
	s.hang("a", w, app)

	asDefault := user("default", "word", all)
	s.everywhere("a", "a binding for default", s.bind("a", app, asDefault), accepts("default", "word"))
	s.refused("a", valkey.Credentials{})
	s.intruders("a", valkey.Credentials{Username: "default", Password: "word"}).in("who is bound as default")
	s.everywhere("a", "no binding for default", s.bind("a", app), may("default", false, "PING"))

	s.tooMany("a", menuACL, app)

	w.unharmed()
	menuACL()()
	s.everywhere("a", "without bindings default is open", s.bind("a"), may("default", true, "SET", "k", "v"))
	s.everywhere("a", "without bindings the user is gone", func() {}, exists("app", false))
	s.awaitConverged("a", 30*time.Second)
	s.verify("a")
	if after := s.podUIDs("a"); fmt.Sprint(after) != fmt.Sprint(pods) {
		t.Errorf("pods were %v and are %v", pods, after)
	}
	m, err := median(times)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a change of users is live on all 6 members after %s (median of %d)", m.Round(time.Millisecond), len(times))
	if m > live {
		t.Errorf("the median is above %s", live)
	}
}

// tooMany binds more users, in the menu and on the cluster, than an ACL file can
// hold: none of them may reach a server.
func (s *space) tooMany(cluster string, inMenu func(...v1alpha1.ACLBinding) func(), app v1alpha1.ACLBinding) {
	s.Helper()
	many := func(name string) []v1alpha1.ACLBinding {
		var out []v1alpha1.ACLBinding
		for i := range 16 {
			b := user(fmt.Sprintf("%s-%d", name, i), "pw", app.Permissions[0].RoleRef)
			p := v1alpha1.Permission{RoleRef: app.Permissions[0].RoleRef}
			for k := range 16 {
				p.Keys = append(p.Keys, v1alpha1.KeyPattern{Pattern: fmt.Sprintf("%s%d:*", strings.Repeat("k", 130), k)})
			}
			b.Permissions = slices.Repeat([]v1alpha1.Permission{p}, 16)
			out = append(out, b)
		}
		return out
	}
	s.everywhere(cluster, "half of too many users", inMenu(many("menu")...), exists("menu-15", true))
	s.bind(cluster, append(many("own"), app)...)()
	s.awaitCluster(cluster, "Invalid for too many users", 15*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
		return c.Status.State == v1alpha1.StateInvalid && strings.Contains(c.Status.Message, "use fewer or shorter ACL bindings")
	})
	s.everywhere(cluster, "none of the other half", func() {}, exists("own-0", false))
	s.everywhere(cluster, "all of the first", func() {}, exists("menu-0", true))
	s.bind(cluster, app)()
	inMenu()()
	s.awaitConverged(cluster, 30*time.Second)
	s.everywhere(cluster, "no longer too many users", func() {}, exists("menu-0", false))
}

// permit changes what a role says of a command.
func (s *space) permit(r *v1alpha1.ValkeyRole, command string, access v1alpha1.RuleAccess) {
	s.Helper()
	r.SetResourceVersion("")
	r.Spec.Commands = []v1alpha1.CommandRule{{Name: "get", Access: v1alpha1.AccessAllow}, {Name: v1alpha1.CommandName(command), Access: access}}
	s.apply(r)
}

// refused checks that nobody gets in with some credentials.
func (s *space) refused(cluster string, cred valkey.Credentials) {
	s.Helper()
	s.each(cluster, cred, func(pod string, n *valkey.Node) {
		if _, err := n.ACLWhoAmI(s.Context()); !valkey.IsAuth(err) {
			s.Errorf("%s lets %q in: %v", pod, cred.Username, err)
		}
	})
}

func (s *space) each(cluster string, cred valkey.Credentials, do func(pod string, n *valkey.Node)) {
	s.Helper()
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	for i := range ps {
		n, err := s.login(s.Context(), cluster, &ps[i], cred)
		if err != nil {
			s.Fatal(err)
		}
		do(ps[i].Name, n)
	}
}

// Intruders hold an open connection to each member.
type intruders struct {
	*space

	ended map[string]<-chan bool
}

func (s *space) intruders(cluster string, cred valkey.Credentials) intruders {
	s.Helper()
	out := intruders{space: s, ended: map[string]<-chan bool{}}
	s.each(cluster, cred, func(pod string, n *valkey.Node) {
		ended, err := n.Watch(s.Context())
		if err != nil {
			s.Fatalf("%q cannot log in to %s: %v", cred.Username, pod, err)
		}
		out.ended[pod] = ended
	})
	return out
}

// out checks that all connections have been closed.
func (i intruders) out(who string) {
	i.Helper()
	late := time.After(3 * time.Second)
	for pod, ended := range i.ended {
		select {
		case <-ended:
		case <-late:
			i.Errorf("%s still has a connection to %s", who, pod)
			return
		}
	}
}

// in checks that all connections are open.
func (i intruders) in(who string) {
	i.Helper()
	for pod, ended := range i.ended {
		select {
		case <-ended:
			i.Errorf("the connection to %s of one %s was closed", pod, who)
		default:
		}
	}
}

// drift changes users by hand on one member and awaits that it is undone.
func (s *space) drift(cluster string) {
	s.Helper()
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	n, err := s.server(s.Context(), cluster, &ps[len(ps)-1])
	if err != nil {
		s.Fatal(err)
	}
	set := func(name string, rules ...string) {
		if err := n.ACLSetUser(s.Context(), name, rules...); err != nil {
			s.Fatal(err)
		}
	}
	set("backdoor", "on", "nopass", "~*", "&*", "+@all")
	set("fourth", "-@all")
	set("default", "on", "nopass", "~*", "+@all")
	back := s.intruders(cluster, valkey.Credentials{Username: "fourth", Password: "pw"})
	s.everywhere(cluster, "drift is repaired", func() {}, func(ctx context.Context, n *valkey.Node) (bool, error) {
		stranger, err := exists("backdoor", false)(ctx, n)
		narrowed, err2 := may("fourth", true, "SET", "k", "v")(ctx, n)
		opened, err3 := may("default", false, "PING")(ctx, n)
		return stranger && narrowed && opened && err == nil && err2 == nil && err3 == nil, err
	})
	back.in("whose rules were given back")
}

// hang stops the process of a replica for a moment: the others must not wait for
// it, and it must catch up.
func (s *space) hang(cluster string, w *untouched, app v1alpha1.ACLBinding) {
	s.Helper()
	ms, err := s.members(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(ms, func(m member) bool { return m.state.Replication.Role == valkey.RoleReplica })
	if i < 0 {
		s.Fatal("there is no replica")
	}
	hung := &ms[i].pod
	w.excuse(hung.Name)
	n, err := pid(hung)
	if err != nil {
		s.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGSTOP); err != nil {
		s.Fatal(err)
	}
	resume := sync.OnceFunc(func() { _ = syscall.Kill(n, syscall.SIGCONT) })
	defer resume()
	guest := user("guest", "pw", app.Permissions[0].RoleRef)
	begin := time.Now()
	s.bind(cluster, app, guest)()
	for _, m := range ms {
		if m.pod.Name == hung.Name {
			continue
		}
		server, err := s.server(s.Context(), cluster, &m.pod)
		if err != nil {
			s.Fatal(err)
		}
		s.await("the new user on "+m.pod.Name, live, func(ctx context.Context) (bool, string, error) {
			ok, err := exists("guest", true)(ctx, server)
			return ok, "", err
		})
	}
	s.Logf("with a hung member, a user is live on the others after %s", time.Since(begin).Round(time.Millisecond))
	resume()
	s.everywhere(cluster, "the member that hung catches up", func() {}, exists("guest", true))
}

// Untouched is a user whom no change concerns: a witness, a pipeline, and a
// subscriber on every member.
type untouched struct {
	*space

	report  func() *witness.Report
	stop    context.CancelFunc
	wg      sync.WaitGroup
	batches atomic.Int64
	heard   map[string]*atomic.Int64
	excused sync.Map
}

func (s *space) untouched(cluster, name, password string) *untouched {
	s.Helper()
	o := witness.Options{Addrs: []string{s.address(cluster)}, Username: name, Password: password, Rate: 400, Keys: 2000}
	w := &untouched{space: s, heard: map[string]*atomic.Int64{}}
	wit, err := witness.Start(o)
	if err != nil {
		s.Fatal(err)
	}
	w.report = sync.OnceValue(wit.Stop)
	s.Cleanup(func() { w.report() })
	c, err := witness.NewClient(o)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	w.wg.Go(func() { w.pipeline(ctx, c) })
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	for i := range ps {
		one, err := vk.NewClient(vk.ClientOption{
			InitAddress: []string{ps[i].Status.PodIP + ":6379"}, Username: name, Password: password,
			ForceSingleClient: true, DisableCache: true, DisableRetry: true,
		})
		if err != nil {
			s.Fatal(err)
		}
		count := &atomic.Int64{}
		w.heard[ps[i].Name] = count
		w.wg.Go(func() { w.listen(ctx, ps[i].Name, one, count) })
	}
	s.Cleanup(func() {
		cancel()
		w.wg.Wait()
		c.Close()
	})
	return w
}

// pipeline sends batches and publishes, and reports every error.
func (w *untouched) pipeline(ctx context.Context, c vk.Client) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var cmds vk.Commands
		for i := range 50 {
			cmds = append(cmds, c.B().Incr().Key(fmt.Sprintf("pipeline:%d", i)).Build())
		}
		for _, r := range append(c.DoMulti(ctx, cmds...), c.Do(ctx, c.B().Publish().Channel("news").Message("x").Build())) {
			if err := r.Error(); err != nil && ctx.Err() == nil {
				w.Errorf("the pipeline of a user whom nothing concerns: %v", err)
				return
			}
		}
		w.batches.Add(1)
	}
}

func (w *untouched) listen(ctx context.Context, pod string, c vk.Client, count *atomic.Int64) {
	defer c.Close()
	err := c.Receive(ctx, c.B().Subscribe().Channel("news").Build(), func(vk.PubSubMessage) { count.Add(1) })
	if _, ok := w.excused.Load(pod); ctx.Err() == nil && !ok {
		w.Errorf("the subscriber of a user whom nothing concerns is cut off from %s: %v", pod, err)
	}
}

// excuse lets a subscriber be cut off, since its member is about to hang.
func (w *untouched) excuse(pod string) { w.excused.Store(pod, true) }

// unharmed ends it all and fails the test if there was an error.
func (w *untouched) unharmed() {
	w.Helper()
	w.stop()
	w.wg.Wait()
	r := w.report()
	var heard []string
	for pod, n := range w.heard {
		heard = append(heard, fmt.Sprintf("%s %d", pod, n.Load()))
		if n.Load() == 0 {
			w.Errorf("the subscriber at %s heard nothing", pod)
		}
	}
	w.Logf("untouched user: %s; %d pipelines of 50; messages heard: %s", r, w.batches.Load(), strings.Join(heard, ", "))
	if bad := r.Clean(); bad != "" {
		w.Errorf("the untouched user sees %s", bad)
	}
	if w.batches.Load() < 20 {
		w.Errorf("the pipeline did too little: %d batches", w.batches.Load())
	}
}
