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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// rotate makes passes until a request for new passwords is fulfilled. After each
// step another provider goes on, which knows nothing but the Secrets.
func (r *rig) rotate(request string) {
	r.Helper()
	r.c.SetAnnotations(map[string]string{manifest.AnnotationRotate: request})
	steps := 0
	valkeyserver.Await(r.T, patience, "new passwords", func() string {
		r.pass()
		r.e.found.aclDue = r.e.found.dueACL(r.e.memory, r.c.Status.State)
		must(r.T, r.e.turnKeys(r.c, r.c.Status.State, time.Now()))
		for _, ch := range r.e.found.changes {
			r.store(ch)
			steps++
		}
		k := r.e.keys
		if now := ringOf(k.auth.Data); k.auth.Annotations[manifest.AnnotationRotatedFor] == request && !now.rotating() && sameKeys(k.auth, k.backup) {
			return ""
		}
		return fmt.Sprintf("%d steps, %s", steps, r.e.found.plan.Message)
	})
	// Each of three steps, and the copy after each.
	if steps != 6 {
		r.Errorf("it took %d steps", steps)
	}
}

// store writes a Secret with passwords and lets another provider read it.
func (r *rig) store(ch change) {
	k := &keys{auth: r.e.keys.auth, backup: r.e.keys.backup}
	switch s := ch.obj.(*corev1.Secret); s.GetName() {
	case manifest.AuthSecretName(r.c.GetName()):
		k.auth = s
	case manifest.AuthBackupName(r.c.GetName()):
		k.backup = s
	}
	k.logins = logins(ringOf(k.auth.Data), ringOf(k.backup.Data))
	r.e.keys, r.e.memory = k, newMemory()
}

// The passwords of the system users are replaced while a client writes, and again
// while members join. No replica is cut off, and those that are cut off afterwards
// come back with the new password.
func TestPasswordsAreReplaced(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 1, 1)
		var addrs []string
		for _, s := range r.servers {
			addrs = append(addrs, s.Addr)
		}
		w, err := witness.Start(witness.Options{Addrs: addrs, Rate: 300, Keys: 200})
		must(t, err)
		old := ringOf(r.e.keys.auth.Data).current

		r.rotate("1")
		now := ringOf(r.e.keys.auth.Data).current
		if now.operator == old.operator || now.repl == old.repl {
			t.Error("the passwords are the old ones")
		}
		report := w.Stop()
		if s := report.Clean(); s != "" {
			t.Errorf("clients see %s", s)
		}
		r.onlyAccept(now, old)
		for name := range r.pods {
			// The answer is a number, which ask takes for an error.
			_, _ = r.ask(name, "CLIENT", "KILL", "TYPE", "replica")
		}
		r.converge()

		r.conf["primaryauth"] = now.repl
		r.writeUsers(v)
		r.scale(1, 2)
		r.pass()
		r.rotate("2")
		r.converge()
		r.onlyAccept(ringOf(r.e.keys.auth.Data).current, now)
	})
}

// onlyAccept checks that servers accept the passwords of now and none of before.
func (r *rig) onlyAccept(now, before pair) {
	r.Helper()
	want := ring{current: now}.system()
	r.look()
	for _, n := range r.e.found.nodes {
		name := n.obj.GetName()
		for _, line := range n.acl {
			u, err := acl.ParseListed(line)
			must(r.T, err)
			if u.Name == acl.OperatorUser && !slices.Equal(u.Hashes, want.OperatorHashes) || u.Name == acl.ReplUser && !slices.Equal(u.Hashes, want.ReplHashes) {
				r.Errorf("%s accepts %d passwords of %s, or another one", name, len(u.Hashes), u.Name)
			}
		}
		cred := valkey.Credentials{Username: acl.OperatorUser, Password: before.operator}
		if _, err := r.e.options.Pool.Node(r.e.endpoint(r.c, n), cred, nil).ACLWhoAmI(r.Context()); !valkey.IsAuth(err) {
			r.Errorf("%s lets the old password in: %v", name, err)
		}
	}
}

// forget has another provider begin that finds neither Secret and makes both anew,
// and returns what was lost.
func (r *rig) forget() (lost *keys) {
	r.Helper()
	lost = r.e.keys
	k := &keys{}
	must(r.T, k.mendAuth(r.c, nil))
	k.mendBackup(r.c)
	k.logins = logins(ringOf(k.auth.Data))
	k.made = false // The Secrets are stored.
	r.e.keys, r.e.memory = k, newMemory()
	return lost
}

// Both Secrets with the passwords are lost while no provider runs. Where nobody is
// bound, members let the next one in as anybody; otherwise nothing is touched until
// somebody brings the passwords back or gives members the new one.
func TestPasswordsAreLost(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 2, 1)
		ids := r.ids()
		n := r.fill(500)
		old := ringOf(r.e.keys.auth.Data).current

		r.forget()
		if as := r.pass().Actions; len(as) > 0 {
			t.Errorf("a provider that is locked out does %v", as)
		}
		r.saysLockedOut()
		r.converge()
		r.onlyAccept(ringOf(r.e.keys.auth.Data).current, old)
		r.intact(n)

		r.bound = []acl.User{{Name: "admin", Rules: []string{"reset", "on", ">word", "~*", "&*", "+@all"}}}
		r.converge()
		old = ringOf(r.e.keys.auth.Data).current
		lost := r.forget()
		if as := r.passes(2 * time.Second); len(as) > 0 {
			t.Errorf("a provider that is locked out does %v", as)
		}
		r.saysLockedOut()
		made := r.e.keys
		r.e.keys = &keys{auth: lost.auth, backup: made.backup, logins: logins(ringOf(lost.auth.Data), ringOf(made.backup.Data))}
		r.converge()
		r.onlyAccept(old, ringOf(made.auth.Data).current)

		r.forget()
		r.pass()
		r.saysLockedOut()
		now := ringOf(r.e.keys.auth.Data).current
		for _, n := range r.e.found.nodes {
			admin := r.e.options.Pool.Node(r.e.endpoint(r.c, n), valkey.Credentials{Username: "admin", Password: "word"}, nil)
			must(t, admin.ACLSetUser(t.Context(), acl.OperatorUser, "#"+hashOf(now.operator)))
		}
		r.converge()
		r.onlyAccept(now, old)
		if after := r.ids(); !slices.Equal(ids, after) {
			t.Errorf("the members were %v and are %v", ids, after)
		}
	})
}

// saysLockedOut fails the test unless the status says that the provider cannot log
// in and what to do about it.
func (r *rig) saysLockedOut() {
	r.Helper()
	const want = `members do not accept the passwords in Secrets "a-operator-auth" and "a-operator-auth-backup"`
	if r.c.Status.State != v1alpha1.StateInvalid || !strings.HasPrefix(r.c.Status.Message, want) {
		r.Errorf("the cluster is %s, %q", r.c.Status.State, r.c.Status.Message)
	}
}
