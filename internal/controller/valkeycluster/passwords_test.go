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
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

var exported = cmp.AllowUnexported(ring{}, pair{}, keys{}, change{})

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// TestRotation takes all steps of a rotation, as providers do that know nothing
// but the Secret.
func TestRotation(t *testing.T) {
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made)}, Data: ring{current: pair{"op", "repl"}}.data()}
	step := func(r rotation) ring {
		t.Helper()
		out, _, err := r.step(s)
		if err != nil {
			t.Fatal(err)
		}
		if out == nil {
			t.Fatal("nothing is to be done")
		}
		s = out
		return ringOf(s.Data)
	}
	rest := func(r rotation, why string) {
		t.Helper()
		out, _, err := r.step(s)
		if err != nil || out != nil {
			t.Errorf("%s: got %v, %v", why, out, err)
		}
	}
	asked := rotation{request: "1", now: made.Add(time.Hour)}

	rest(rotation{now: made.Add(time.Hour)}, "nobody asks")
	one := step(asked)
	if one.current != (pair{"op", "repl"}) || !one.next.complete() || one.previous != (pair{}) {
		t.Errorf("the first step adds passwords, got %+v", one)
	}
	if len(one.next.operator) != 128 || one.next.operator == one.next.repl {
		t.Errorf("passwords have 128 characters and differ, got %+v", one.next)
	}
	two := step(asked)
	if diff := cmp.Diff(ring{current: one.next, previous: one.current}, two, exported); diff != "" {
		t.Errorf("the second step uses them: -want, +got:\n%s", diff)
	}
	three := step(asked)
	if diff := cmp.Diff(ring{current: one.next}, three, exported); diff != "" {
		t.Errorf("the third step forgets the old: -want, +got:\n%s", diff)
	}
	rest(asked, "the request was fulfilled")
	rest(rotation{now: made.Add(time.Hour)}, "a request that is taken back is none")
	asked.request = "2"
	step(asked)
	step(asked)
	step(asked)
	rest(asked, "the next request was fulfilled")

	rest(rotation{request: "2", maxAge: time.Hour, now: made.Add(2 * time.Hour)}, "the passwords are as old as they may be")
	if r := step(rotation{request: "2", maxAge: time.Hour, now: made.Add(2*time.Hour + time.Second)}); !r.next.complete() {
		t.Errorf("the passwords are too old, got %+v", r)
	}
}

func TestRotationByAgeOfTheSecret(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-2 * time.Hour))}}
	if !(rotation{maxAge: time.Hour, now: now}).due(s) {
		t.Error("passwords that were never replaced are as old as their Secret")
	}
	s.Annotations = map[string]string{manifest.AnnotationPasswordsMade: now.Add(-time.Minute).Format(time.RFC3339)}
	if (rotation{maxAge: time.Hour, now: now}).due(s) {
		t.Error("passwords that were replaced are younger")
	}
}

func TestRingOfServers(t *testing.T) {
	r := ring{current: pair{"a", "x"}, next: pair{"b", "y"}}
	want := acl.System{OperatorHashes: []string{hashOf("a"), hashOf("b")}, ReplHashes: []string{hashOf("x"), hashOf("y")}}
	if diff := cmp.Diff(want, r.system()); diff != "" {
		t.Errorf("servers accept both: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(r, ringOf(r.data()), exported); diff != "" {
		t.Errorf("a Secret keeps a ring: -want, +got:\n%s", diff)
	}
	got := logins(r, ring{current: pair{"a", "x"}, previous: pair{"c", "z"}})
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("each password is tried once: -want, +got:\n%s", diff)
	}
}

func TestMendKeys(t *testing.T) {
	c := &v1alpha1.ValkeyCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", Annotations: map[string]string{manifest.AnnotationRotate: "1"}}}
	secret := func(r ring) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{manifest.AnnotationRotatedFor: "0"}}, Data: r.data()}
	}
	known := ring{current: pair{"a", "x"}, previous: pair{"b", "y"}}
	kept := ring{current: pair{"m", "n"}}
	cases := map[string]struct {
		reason       string
		auth, backup *corev1.Secret
		memory       ring
		want         ring
		verbs        []string
	}{
		"Sound":         {"Nothing is missing.", secret(known), secret(known), ring{}, known, nil},
		"Deleted":       {"A Secret that was deleted comes back from its copy.", nil, secret(known), ring{}, known, []string{verbCreate}},
		"BackupDeleted": {"And the copy from the Secret.", secret(known), nil, ring{}, known, []string{verbCreate}},
		"BothDeleted":   {"If both are gone, what the provider remembers is used.", nil, nil, kept, kept, []string{verbCreate, verbCreate}},
		"Emptied":       {"A Secret that was emptied is filled.", secret(ring{}), secret(known), kept, known, []string{verbUpdate}},
		"Half":          {"As is one that lost a key.", secret(ring{current: pair{operator: "a"}}), secret(known), ring{}, known, []string{verbUpdate}},
		"Edited":        {"One that says something else is left alone: servers tell which is right.", secret(kept), secret(known), ring{}, kept, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k := &keys{auth: tc.auth, backup: tc.backup}
			var rings []ring
			for _, s := range []*corev1.Secret{tc.auth, tc.backup} {
				if s != nil {
					rings = append(rings, ringOf(s.Data))
				}
			}
			if err := k.mendAuth(c, append(rings, tc.memory)); err != nil {
				t.Fatal(err)
			}
			k.mendBackup(c)
			if diff := cmp.Diff(tc.want, ringOf(k.auth.Data), exported); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if !ringOf(k.backup.Data).current.complete() {
				t.Errorf("%s: the copy is %+v", tc.reason, k.backup.Data)
			}
			var verbs []string
			for _, ch := range k.changes {
				verbs = append(verbs, ch.verb)
				if ch.verb == verbUpdate && ch.obj.GetResourceVersion() != "7" {
					t.Errorf("%s: an update of version %q", tc.reason, ch.obj.GetResourceVersion())
				}
			}
			if diff := cmp.Diff(tc.verbs, verbs); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFreshKeys(t *testing.T) {
	c := &v1alpha1.ValkeyCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", Annotations: map[string]string{manifest.AnnotationRotate: "1"}}}
	k := &keys{}
	if err := k.mendAuth(c, nil); err != nil {
		t.Fatal(err)
	}
	k.mendBackup(c)
	r := ringOf(k.auth.Data)
	if len(r.current.operator) != 128 || len(r.current.repl) != 128 || r.current.operator == r.current.repl || r.rotating() {
		t.Errorf("got %+v", r)
	}
	if !k.made || !sameKeys(k.auth, k.backup) || len(k.changes) != 2 {
		t.Errorf("both Secrets are made with the same passwords, got %+v", k)
	}
	if (rotation{request: "1"}).due(k.auth) {
		t.Error("passwords that were just made are new already")
	}
}
