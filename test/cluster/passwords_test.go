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
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	vk "github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// auth reads the Secret with the passwords of the system users, or its copy.
func (s *space) auth(ctx context.Context, name string) (*corev1.Secret, error) {
	out := &corev1.Secret{}
	return out, kube.Get(ctx, client.ObjectKey{Namespace: s.name, Name: name}, out)
}

// passwordsOf reads the passwords of the system users.
func (s *space) passwordsOf(cluster string) (operator, repl string) {
	s.Helper()
	a, err := s.auth(s.Context(), manifest.AuthSecretName(cluster))
	if err != nil {
		s.Fatal(err)
	}
	credentials.keep(a)
	return string(a.Data[manifest.KeyOperatorPassword]), string(a.Data[manifest.KeyReplPassword])
}

// ask asks for new passwords of the system users.
func (s *space) ask(cluster, request string) {
	s.Helper()
	s.edit(cluster, func(c *v1alpha1.ValkeyCluster) {
		c.SetAnnotations(map[string]string{manifest.AnnotationRotate: request})
	})
}

// rotated waits until a request for new passwords is fulfilled.
func (s *space) rotated(cluster, request string, atMost time.Duration) {
	s.Helper()
	s.await("new passwords", atMost, func(ctx context.Context) (bool, string, error) {
		a, err := s.auth(ctx, manifest.AuthSecretName(cluster))
		b, err2 := s.auth(ctx, manifest.AuthBackupName(cluster))
		if err != nil || err2 != nil {
			return false, "", err
		}
		state := fmt.Sprintf("%d keys for request %q, %d in the copy", len(a.Data), a.Annotations[manifest.AnnotationRotatedFor], len(b.Data))
		done := a.Annotations[manifest.AnnotationRotatedFor] == request && len(a.Data) == 2 && len(b.Data) == 2 &&
			string(a.Data[manifest.KeyOperatorPassword]) == string(b.Data[manifest.KeyOperatorPassword])
		return done, state, nil
	})
}

// onlyNew checks that every member accepts the passwords of the Secret and no
// others, and that replicas get in with them.
func (s *space) onlyNew(cluster, oldOperator string) {
	s.Helper()
	operator, repl := s.passwordsOf(cluster)
	if operator == oldOperator {
		s.Error("the password is the old one")
	}
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	for i := range ps {
		n, err := s.server(s.Context(), cluster, &ps[i])
		if err != nil {
			s.Fatal(err)
		}
		for name, password := range map[string]string{acl.OperatorUser: operator, acl.ReplUser: repl} {
			u, _, err := n.ACLGetUser(s.Context(), name)
			if want := []string{string(hashOf(password))}; err != nil || !slices.Equal(u.Passwords, want) {
				s.Errorf("%s has %d passwords of %s, want just the new one: %v", ps[i].Name, len(u.Passwords), name, err)
			}
		}
		if cfg, err := n.ConfigGet(s.Context(), "primaryauth"); err != nil || cfg["primaryauth"] != repl {
			s.Errorf("%s does not log in to others with the new password: %v", ps[i].Name, err)
		}
	}
	s.refused(cluster, valkey.Credentials{Username: acl.OperatorUser, Password: oldOperator})
}

// operator returns a client that may send what the provider may.
func (s *space) operator(cluster string, pod *corev1.Pod, password string) vk.Client {
	s.Helper()
	conf, err := s.tlsOf(s.Context(), cluster, pod)
	if err != nil {
		s.Fatal(err)
	}
	c, err := vk.NewClient(vk.ClientOption{
		InitAddress: []string{pod.Status.PodIP + ":6379"}, Username: acl.OperatorUser, Password: password, TLSConfig: conf,
		ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// reconnect cuts off all replicas of a cluster and waits until they are back.
func (s *space) reconnect(cluster string) {
	s.Helper()
	operator, _ := s.passwordsOf(cluster)
	ms, err := s.members(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	for _, m := range ms {
		c := s.operator(cluster, &m.pod, operator)
		if err := c.Do(s.Context(), c.B().Arbitrary("CLIENT", "KILL", "TYPE", "replica").Build()).Error(); err != nil {
			s.Error(err)
		}
		c.Close()
	}
	s.await("replicas are back", 20*time.Second, func(ctx context.Context) (bool, string, error) {
		err := s.topology(ctx, cluster)
		return err == nil, "", err
	})
}

// losesAll deletes both Secrets with the passwords while the provider is down: first
// where nobody is bound, so that it gets in again by itself, and then where only
// somebody who has the passwords can help. It returns the password of the end.
func (s *space) losesAll(cluster string) string {
	s.Helper()
	lose := func() {
		s.Helper()
		provider.kill()
		for _, n := range []string{manifest.AuthSecretName(cluster), manifest.AuthBackupName(cluster)} {
			if err := kube.Delete(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: n, Namespace: s.name}}); err != nil {
				s.Fatal(err)
			}
		}
		provider.revive(s.T)
	}
	// again awaits a Secret that the provider made anew, and returns its password.
	again := func() string {
		s.Helper()
		s.await("new Secrets", 20*time.Second, func(ctx context.Context) (bool, string, error) {
			_, err := s.auth(ctx, manifest.AuthSecretName(cluster))
			return err == nil, "", err
		})
		operator, _ := s.passwordsOf(cluster)
		return operator
	}
	lose()
	operator := again()
	s.everywhere(cluster, "all passwords are lost, nobody is bound", func() {}, accepts(acl.OperatorUser, operator))
	s.awaitEvent(cluster, "members do not accept the passwords", 10*time.Second)
	s.awaitConverged(cluster, 30*time.Second)

	app := user("app", "pw", s.global("all", role()))
	s.everywhere(cluster, "a binding closes default", s.bind(cluster, app), may("default", false, "PING"))
	s.awaitConverged(cluster, 30*time.Second)
	kept, err := s.auth(s.Context(), manifest.AuthSecretName(cluster))
	if err != nil {
		s.Fatal(err)
	}
	lose()
	begin := time.Now()
	s.awaitCluster(cluster, "Invalid since the provider is locked out", 20*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
		return c.Status.State == v1alpha1.StateInvalid && holdsAll(c.Status.Message, []string{"members do not accept the passwords", manifest.AuthBackupName(cluster)})
	})
	s.Logf("that all passwords are lost is told after %s", time.Since(begin).Round(100*time.Millisecond))
	if again() == operator {
		s.Error("the password did not get lost")
	}
	s.each(cluster, valkey.Credentials{Username: "app", Password: "pw"}, func(pod string, n *valkey.Node) {
		if err := n.Ping(s.Context()); err != nil {
			s.Errorf("%s does not serve its users: %v", pod, err)
		}
	})
	now, err := s.auth(s.Context(), kept.Name)
	if err != nil {
		s.Fatal(err)
	}
	now.Data = kept.Data
	if err := kube.Update(s.Context(), now); err != nil {
		s.Fatal(err)
	}
	s.awaitConverged(cluster, 30*time.Second)
	s.everywhere(cluster, "without bindings default is open", s.bind(cluster), may("default", true, "SET", "k", "v"))
	return operator
}

// TestPasswords loses and replaces the passwords of the system users in all ways
// while the provider is killed, which is why it is not parallel to others.
func TestPasswords(t *testing.T) {
	s := newSpace(t, 6)
	s.run("a", menu(newest), 2, 1)
	s.awaitConverged("a", 90*time.Second)
	pods := s.podUIDs("a")
	operator, _ := s.passwordsOf("a")
	auth, backup := manifest.AuthSecretName("a"), manifest.AuthBackupName("a")
	lose := func(names ...string) {
		t.Helper()
		for _, n := range names {
			if err := kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: n, Namespace: s.name}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	back := func(what string) {
		t.Helper()
		d := s.await(what, 20*time.Second, func(ctx context.Context) (bool, string, error) {
			a, err := s.auth(ctx, auth)
			b, err2 := s.auth(ctx, backup)
			if err != nil || err2 != nil {
				return false, "", err
			}
			return string(a.Data[manifest.KeyOperatorPassword]) == operator && string(b.Data[manifest.KeyOperatorPassword]) == operator, "another password", nil
		})
		t.Logf("%s: healed after %s", what, d.Round(100*time.Millisecond))
		s.awaitConverged("a", 30*time.Second)
		s.verify("a")
	}

	lose(auth)
	back("the Secret is deleted")
	lose(backup)
	back("its copy is deleted")
	lose(auth, backup)
	back("both are deleted")
	provider.kill()
	lose(auth)
	provider.revive(t)
	back("the Secret is deleted while the provider is down")

	old := operator
	operator = s.losesAll("a")
	s.onlyNew("a", old)
	s.awaitConverged("a", 30*time.Second)
	s.verify("a")

	a, err := s.auth(t.Context(), auth)
	if err != nil {
		t.Fatal(err)
	}
	old = operator
	operator = "chosen by hand, with blanks and \"quotes\""
	a.Data[manifest.KeyOperatorPassword] = []byte(operator)
	if err := kube.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	provider.kill()
	provider.revive(t)
	back("the Secret is edited by hand")
	s.onlyNew("a", old)

	t.Logf("-cluster.seed=%d", *seed)
	rnd := rand.New(rand.NewPCG(uint64(*seed), 1))
	old = operator
	s.ask("a", "killed")
	for i := range 4 {
		moment := time.Duration(rnd.Int64N(int64(900 * time.Millisecond)))
		_, _ = await("moment of the kill", moment+time.Millisecond, func(context.Context) (bool, string, error) { return false, "", nil })
		provider.kill()
		now, err := s.auth(t.Context(), auth)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("kill %d: the Secret has %d keys, rotated for %q", i+1, len(now.Data), now.Annotations[manifest.AnnotationRotatedFor])
		provider.revive(t)
	}
	s.rotated("a", "killed", 30*time.Second)
	s.onlyNew("a", old)
	s.reconnect("a")
	s.awaitConverged("a", 30*time.Second)
	s.verify("a")
	if after := s.podUIDs("a"); fmt.Sprint(after) != fmt.Sprint(pods) {
		t.Errorf("pods were %v and are %v", pods, after)
	}

	old, _ = s.passwordsOf("a")
	s.edit("a", func(c *v1alpha1.ValkeyCluster) {
		c.SetAnnotations(map[string]string{manifest.AnnotationRotate: "while growing"})
		c.Spec.Shards = 3
	})
	s.rotated("a", "while growing", 90*time.Second)
	s.awaitConverged("a", 90*time.Second)
	s.onlyNew("a", old)
	s.reconnect("a")
	s.verify("a")
}
