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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// binding lets a user do with all keys what a role permits.
func binding(user, role string) v1alpha1.ACLBinding {
	return v1alpha1.ACLBinding{
		Username: user, PasswordHashes: []v1alpha1.PasswordHash{"5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"},
		Permissions: []v1alpha1.Permission{{RoleRef: role, Keys: []v1alpha1.KeyPattern{{Pattern: "*"}}}},
	}
}

func image() *v1alpha1.ValkeyImage {
	return &v1alpha1.ValkeyImage{Spec: v1alpha1.ValkeyImageSpec{Repository: "valkey/valkey", Tag: newest, Version: newest + ".0"}}
}

func role() *v1alpha1.ValkeyRole {
	return &v1alpha1.ValkeyRole{Spec: v1alpha1.ValkeyRoleSpec{Categories: []v1alpha1.CategoryRule{{Name: "all", Access: v1alpha1.AccessAllow}}}}
}

// A dangle is a cluster with a broken reference.
type dangle struct {
	config  string
	acl     []v1alpha1.ACLBinding
	message string
	// repair changes the catalog, not the cluster.
	repair func()
}

func TestDanglingReferences(t *testing.T) {
	t.Parallel()
	sound := v1alpha1.ValkeyConfigSpec{BaseRef: menu(newest)}
	cases := map[string]struct {
		reason string
		broken func(*space) dangle
	}{
		"Config": {
			reason: "A config that does not exist.",
			broken: func(s *space) dangle {
				return dangle{
					config: s.own("c"), message: fmt.Sprintf("ValkeyConfig %q not found", s.own("c")),
					repair: func() { s.config("c", sound) },
				}
			},
		},
		"Base": {
			reason: "A base that does not exist.",
			broken: func(s *space) dangle {
				return dangle{
					config: s.config("c", v1alpha1.ValkeyConfigSpec{BaseRef: s.own("base")}), message: fmt.Sprintf("ValkeyConfig %q not found", s.own("base")),
					repair: func() { s.config("base", sound) },
				}
			},
		},
		"Image": {
			reason: "An image that is not on the allowlist.",
			broken: func(s *space) dangle {
				return dangle{
					config: s.config("c", v1alpha1.ValkeyConfigSpec{BaseRef: menu(newest), ImageRef: s.own("i")}), message: fmt.Sprintf("ValkeyImage %q not found", s.own("i")),
					repair: func() { s.global("i", image()) },
				}
			},
		},
		"NoImage": {
			reason: "A chain in which no config names an image.",
			broken: func(s *space) dangle {
				base := s.global("base", &v1alpha1.ValkeyConfig{})
				return dangle{
					config: s.config("c", v1alpha1.ValkeyConfigSpec{BaseRef: base}), message: fmt.Sprintf("no image_ref in config chain ending at %q", base),
					repair: func() { s.config("base", v1alpha1.ValkeyConfigSpec{ImageRef: menu(newest)}) },
				}
			},
		},
		"Role": {
			reason: "A role that does not exist.",
			broken: func(s *space) dangle {
				return dangle{
					config: s.config("c", sound), acl: []v1alpha1.ACLBinding{binding("app", s.own("r"))},
					message: fmt.Sprintf("ValkeyRole %q not found (referenced by user %q)", s.own("r"), "app"),
					repair:  func() { s.global("r", role()) },
				}
			},
		},
		"ElevenDeep": {
			reason: "A chain of eleven configs, of which only the last names an image.",
			broken: func(s *space) dangle {
				prev := s.config("c0", sound)
				for i := 1; i < 10; i++ {
					prev = s.config(fmt.Sprintf("c%d", i), v1alpha1.ValkeyConfigSpec{BaseRef: prev})
				}
				return dangle{
					config: prev, message: "config inheritance depth exceeds 10 (cycle?)",
					repair: func() { s.config("c1", v1alpha1.ValkeyConfigSpec{ImageRef: menu(newest)}) },
				}
			},
		},
		"Cycle": {
			reason: "Two configs that inherit from each other.",
			broken: func(s *space) dangle {
				s.config("b", v1alpha1.ValkeyConfigSpec{BaseRef: s.own("c")})
				return dangle{
					config: s.config("c", v1alpha1.ValkeyConfigSpec{BaseRef: s.own("b")}), message: "config inheritance depth exceeds 10 (cycle?)",
					repair: func() { s.config("b", sound) },
				}
			},
		},
		"DuplicateUser": {
			reason: "A user that the config and the cluster both define.",
			broken: func(s *space) dangle {
				r := s.global("r", role())
				return dangle{
					config: s.config("c", v1alpha1.ValkeyConfigSpec{BaseRef: menu(newest), ACL: &[]v1alpha1.ACLBinding{binding("app", r)}}),
					acl:    []v1alpha1.ACLBinding{binding("app", r)}, message: `duplicate username "app" in merged ACL bindings`,
					repair: func() { s.config("c", sound) },
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			s := newSpace(t, 1)
			d := tc.broken(s)
			s.run("a", d.config, 1, 0, func(c *v1alpha1.ValkeyCluster) { c.Spec.ACL = d.acl })
			s.awaitInvalid("a", d.message, 15*time.Second)
			if ns, err := s.nodes(t.Context(), "a"); err != nil || len(ns) > 0 {
				t.Errorf("%d members of an invalid cluster: %v", len(ns), err)
			}
			d.repair()
			s.awaitActive("a", 60*time.Second)
			s.awaitCluster("a", "without a message", time.Second, func(c *v1alpha1.ValkeyCluster) bool { return c.Status.Message == "" })
			if err := s.topology(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReferenceBreaksWhileRunning(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 2)
	cfg := s.config("c", v1alpha1.ValkeyConfigSpec{})
	s.run("a", cfg, 2, 0)
	s.awaitConverged("a", 60*time.Second)
	before := s.podUIDs("a")
	obj := &v1alpha1.ValkeyConfig{}
	obj.SetName(cfg)
	if err := kube.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	s.awaitInvalid("a", fmt.Sprintf("ValkeyConfig %q not found", cfg), 15*time.Second)
	s.verify("a")
	s.config("c", v1alpha1.ValkeyConfigSpec{})
	s.awaitConverged("a", 30*time.Second)
	s.verify("a")
	if after := s.podUIDs("a"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("pods were %v and are %v", before, after)
	}
}

// podUIDs tells pods of the same name apart.
func (s *space) podUIDs(cluster string) map[string]string {
	s.Helper()
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range ps {
		out[p.Name] = string(p.UID)
	}
	return out
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	s, other := newSpace(t, 6), newSpace(t, 3)
	clusters := []struct {
		s    *space
		name string
	}{{s, "db"}, {s, "db-1"}, {other, "db"}}
	for _, c := range clusters {
		c.s.run(c.name, menu(newest), 3, 0)
	}
	for _, c := range clusters {
		c.s.awaitConverged(c.name, 90*time.Second)
		c.s.verify(c.name)
	}
	before := s.podUIDs("db-1")
	if err := kube.Delete(t.Context(), s.cluster("db", "", 1, 0)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	s.await("db gone", 30*time.Second, absent(s, "db"))
	s.awaitConverged("db-1", time.Second)
	s.verify("db-1")
	other.verify("db")
	if after := s.podUIDs("db-1"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("pods of db-1 were %v and are %v", before, after)
	}
}
