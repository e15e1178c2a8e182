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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// TestPasswordsByAge lets passwords become too old again and again under traffic,
// with a flag of its own, which is why it is not parallel to others.
func TestPasswordsByAge(t *testing.T) {
	const rotations = 3
	s := newSpace(t, 6)
	s.run("a", menu(newest), 3, 1)
	s.awaitConverged("a", 90*time.Second)
	w := &watched{space: s, cluster: "a", options: witness.Options{Addrs: []string{s.address("a")}, Rate: 500, Keys: 4000}}
	// A move for balance would change the replication too.
	w.awaitBalance()
	s.awaitConverged("a", 30*time.Second)
	pods, links := s.podUIDs("a"), s.links("a")
	w.begin(2000)

	first, _ := s.passwordsOf("a")
	seen := []string{first}
	w.step("passwords are replaced by their age", func() { provider.with(t, "--max-password-age=5s", "--poll=1s") }, func() {
		s.await(fmt.Sprintf("%d rotations", rotations), 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			auth, err := s.auth(ctx, manifest.AuthSecretName("a"))
			if err != nil {
				return false, "", err
			}
			credentials.keep(auth)
			if now := string(auth.Data[manifest.KeyOperatorPassword]); !slices.Contains(seen, now) {
				seen = append(seen, now)
			}
			return len(seen) > rotations, fmt.Sprintf("%d passwords", len(seen)), nil
		})
	})
	provider.restart(t)
	s.await("the last rotation is over", 30*time.Second, func(ctx context.Context) (bool, string, error) {
		a, err := s.auth(ctx, manifest.AuthSecretName("a"))
		b, err2 := s.auth(ctx, manifest.AuthBackupName("a"))
		if err != nil || err2 != nil {
			return false, "", err
		}
		return len(a.Data) == 2 && cmp.Equal(a.Data, b.Data), fmt.Sprintf("%d keys, %d in the copy", len(a.Data), len(b.Data)), nil
	})
	s.onlyNew("a", first)

	if bad := w.finish().Clean(); bad != "" {
		t.Errorf("clients see %s", bad)
	}
	if diff := cmp.Diff(links, s.links("a")); diff != "" {
		t.Errorf("the replication was interrupted: -before, +after:\n%s", diff)
	}
	if after := s.podUIDs("a"); !cmp.Equal(pods, after) {
		t.Errorf("pods were %v and are %v", pods, after)
	}
	s.notRestarted("a")
	s.verify("a")
}

// links returns, for each member, the connections of its replication and how often
// that was begun anew.
func (s *space) links(cluster string) map[string][]string {
	s.Helper()
	operator, _ := s.passwordsOf(cluster)
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	out := map[string][]string{}
	replicas := 0
	for i := range ps {
		c := s.operator(cluster, &ps[i], operator)
		ask := func(args ...string) string {
			text, err := c.Do(s.Context(), c.B().Arbitrary(args...).Build()).ToString()
			if err != nil {
				s.Fatalf("%v on %s: %v", args, ps[i].Name, err)
			}
			return text
		}
		var facts []string
		for _, end := range []string{"replica", "master"} {
			for line := range strings.Lines(ask("CLIENT", "LIST", "TYPE", end)) {
				f := fieldsOf(line)
				facts = append(facts, fmt.Sprintf("%s: connection %s with %s of %s", end, f["id"], f["addr"], f["user"]))
				if end == "replica" && f["user"] == acl.ReplUser {
					replicas++
				}
			}
		}
		stats := valkey.ParseInfo(ask("INFO", "stats"))
		for _, key := range []string{"sync_full", "sync_partial_ok", "sync_partial_err"} {
			facts = append(facts, key+" "+stats[key])
		}
		slices.Sort(facts)
		out[ps[i].Name] = facts
		c.Close()
	}
	if replicas != len(ps)/2 {
		s.Fatalf("%d of %d replicas are connected as %s:\n%v", replicas, len(ps)/2, acl.ReplUser, out)
	}
	return out
}

// fieldsOf reads a line of CLIENT LIST.
func fieldsOf(line string) map[string]string {
	out := map[string]string{}
	for f := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(f, "=")
		// In RESP3 the text begins with its format.
		out[strings.TrimPrefix(k, "txt:")] = v
	}
	return out
}
