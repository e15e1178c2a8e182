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
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

func TestServerACL(t *testing.T) {
	const acl = "user default on nopass ~* &* +@all\nuser app on >first ~app:* resetchannels &app:* -@all +get (~other:* -@all +set)\n"
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		s := valkeyserver.Start(t, version, valkeyserver.Options{ACL: acl})
		n := s.Node()
		who, err := n.ACLWhoAmI(ctx)
		must(t, err)
		if who != "default" {
			t.Errorf("ACLWhoAmI(...): %q", who)
		}

		u, ok, err := n.ACLGetUser(ctx, "app")
		must(t, err)
		sum := sha256.Sum256([]byte("first"))
		if !ok || !slices.Contains(u.Flags, "on") || !slices.Equal(u.Passwords, []string{hex.EncodeToString(sum[:])}) || u.Commands != "-@all +get" ||
			u.Keys != "~app:*" || u.Channels != "&app:*" || len(u.Selectors) != 1 || u.Selectors[0].Commands != "-@all +set" || u.Selectors[0].Keys != "~other:*" {
			t.Errorf("ACLGetUser(...): %+v, %t", u, ok)
		}
		if _, ok, err = n.ACLGetUser(ctx, "nobody"); ok || err != nil {
			t.Errorf("ACLGetUser(...) of nobody: %t, %v", ok, err)
		}

		if why, err := n.ACLDryRun(ctx, "app", "GET", "app:1"); why != "" || err != nil {
			t.Errorf("ACLDryRun(...): %q, %v", why, err)
		}
		if why, err := n.ACLDryRun(ctx, "app", "GET", "zz"); !strings.Contains(why, "no permissions") || err != nil {
			t.Errorf("ACLDryRun(...) of a forbidden key: %q, %v", why, err)
		}

		must(t, n.ACLSetUser(ctx, "extra", "reset", "on", ">word", "~x:*", "+get"))
		var se *valkey.ServerError
		if err := n.ACLSetUser(ctx, "extra", "+no-such-command"); !errors.As(err, &se) {
			t.Errorf("ACLSetUser(...) of a command that does not exist: %v", err)
		}
		users, err := n.ACLUsers(ctx)
		must(t, err)
		if !slices.Equal(users, []string{"app", "default", "extra"}) {
			t.Errorf("ACLUsers(...): %q", users)
		}
		lines, err := n.ACLList(ctx)
		must(t, err)
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "user app on ") {
			t.Errorf("ACLList(...): %q", lines)
		}

		testKill(t, s)
		must(t, n.ACLDelUser(ctx, "extra", "nobody"))
		testLoad(t, s)
	})
}

func testKill(t *testing.T, s *valkeyserver.Server) {
	t.Helper()
	p := valkey.NewPool(valkey.PoolOptions{})
	t.Cleanup(p.Close)
	extra := p.Node(s.Endpoint(), valkey.Credentials{Username: "extra", Password: "word"}, nil)
	want(t, extra.Ping(t.Context()), valkey.IsNoPerm, s.Addr)
	killed, err := s.Node().ClientKillUser(t.Context(), "extra")
	must(t, err)
	if killed != 1 {
		t.Errorf("ClientKillUser(...): %d connections", killed)
	}
	// Our own connection is spared.
	if _, err := s.Node().ClientKillUser(t.Context(), "default"); err != nil {
		t.Error(err)
	}
}

func testLoad(t *testing.T, s *valkeyserver.Server) {
	t.Helper()
	n, ctx := s.Node(), t.Context()
	s.WriteACL(t, "user default on nopass ~* &* +@all\nuser new on >x ~* +@all\n")
	must(t, n.ACLLoad(ctx))
	if _, ok, err := n.ACLGetUser(ctx, "app"); ok || err != nil {
		t.Errorf("a user that is not in the file any more: %t, %v", ok, err)
	}
	s.WriteACL(t, "user default on nopass ~* &* +@all\nuser new on nonsense\n")
	err := n.ACLLoad(ctx)
	var se *valkey.ServerError
	if !errors.As(err, &se) || !strings.Contains(se.Message, "users.acl:2") {
		t.Errorf("ACLLoad(...) of a bad file: %v", err)
	}
	if _, ok, err := n.ACLGetUser(ctx, "new"); !ok || err != nil {
		t.Errorf("a user after a bad load: %t, %v", ok, err)
	}
}

// Where ACL LOAD kills a replica (8.0), SETUSER works.
func TestServerACLOfReplica(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		c := valkeyserver.StartCluster(t, version, 1, 1, valkeyserver.Options{ACL: "user default on nopass ~* &* +@all\n"})
		n := c.Replicas[0][0].Node()
		must(t, n.ACLSetUser(ctx, "new", "reset", "on", ">x", "+ping"))
		must(t, n.ACLDelUser(ctx, "new"))
		if version != "8.0" {
			must(t, n.ACLLoad(ctx))
		}
	})
}

// Users change in one go: who may stay notices nothing, who may not is out.
func TestServerACLApply(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		const acl = "user default on nopass ~* &* +@all\nuser stays on >a +ping\nuser changes on >b +ping\nuser goes on >c +ping\n"
		ctx := t.Context()
		s := valkeyserver.Start(t, version, valkeyserver.Options{ACL: acl})
		p := valkey.NewPool(valkey.PoolOptions{})
		t.Cleanup(p.Close)
		login := func(name, password string) *valkey.Node {
			n := p.Node(s.Endpoint(), valkey.Credentials{Username: name, Password: password}, nil)
			return n
		}
		ended := map[string]<-chan bool{}
		for name, password := range map[string]string{"stays": "a", "changes": "b", "goes": "c"} {
			w, err := login(name, password).Watch(ctx)
			must(t, err)
			ended[name] = w
		}
		lines, err := s.Node().ACLApply(ctx, valkey.ACLChange{
			Delete: []string{"goes", "nobody"},
			Set: []valkey.ACLSetting{
				{Name: "stays", Rules: []string{"reset", "on", ">a", "+ping"}},
				{Name: "changes", Rules: []string{"reset", "on", ">d", "+ping"}, Disconnect: true},
			},
		})
		must(t, err)
		after, err := s.Node().ACLList(ctx)
		must(t, err)
		if diff := cmp.Diff(after, lines); diff != "" || len(lines) != 3 {
			t.Errorf("users that ACLApply(...) returned: -want, +got:\n%s", diff)
		}
		for _, name := range []string{"changes", "goes"} {
			select {
			case <-ended[name]:
			case <-time.After(5 * time.Second):
				t.Errorf("the connection of the user that %s is still open", name)
			}
		}
		must(t, login("changes", "d").Ping(ctx))
		want(t, login("changes", "b").Ping(ctx), valkey.IsAuth, s.Addr)
		want(t, login("goes", "c").Ping(ctx), valkey.IsAuth, s.Addr)
		must(t, login("stays", "a").Ping(ctx))
		select {
		case <-ended["stays"]:
			t.Error("the connection of a user that stays was closed")
		default:
		}

		_, err = s.Node().ACLApply(ctx, valkey.ACLChange{Set: []valkey.ACLSetting{
			{Name: "stays", Rules: []string{"reset", ">secret", "~*", "~x"}},
			{Name: "other", Rules: []string{"reset", "on"}},
		}})
		if err == nil || !strings.Contains(err.Error(), "ACL SETUSER stays") || strings.Contains(err.Error(), "secret") {
			t.Errorf("ACLApply(...) of a bad rule: %v", err)
		}
		must(t, login("stays", "a").Ping(ctx))
		if _, ok, err := s.Node().ACLGetUser(ctx, "other"); !ok || err != nil {
			t.Errorf("the user after a refused one: %t, %v", ok, err)
		}
	})
}

// A user may be too old to open a transaction, or to end it. The change is made,
// or refused as a whole, and the connection can be used on.
func TestServerACLApplyWithoutTransaction(t *testing.T) {
	cases := map[string]struct {
		reason string
		rules  string
		fails  bool
	}{
		"NoMulti": {reason: "Without MULTI the commands are carried out one by one.", rules: "+@all -multi -exec"},
		"NoExec":  {reason: "Without EXEC nothing is carried out.", rules: "+@all -exec", fails: true},
	}
	onEveryVersion(t, func(t *testing.T, version string) {
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				ctx := t.Context()
				s := valkeyserver.Start(t, version, valkeyserver.Options{ACL: "user default on nopass ~* &* +@all\nuser old on nopass ~* &* " + tc.rules + "\n"})
				p := valkey.NewPool(valkey.PoolOptions{})
				t.Cleanup(p.Close)
				n := p.Node(s.Endpoint(), valkey.Credentials{Username: "old", Password: "any"}, nil)
				lines, err := n.ACLApply(ctx, valkey.ACLChange{Set: []valkey.ACLSetting{{Name: "new", Rules: []string{"reset", "on"}}}})
				if lines != nil || (err != nil) != tc.fails {
					t.Errorf("%s ACLApply(...): %q, %v", tc.reason, lines, err)
				}
				must(t, n.Ping(ctx))
				_, ok, err := n.ACLGetUser(ctx, "new")
				if ok == tc.fails || err != nil {
					t.Errorf("%s The user exists: %t, %v", tc.reason, ok, err)
				}
			})
		}
	})
}
