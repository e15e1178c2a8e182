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
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// passwordBytes of randomness make a password of 128 hexadecimal characters.
const passwordBytes = 64

// A ring holds the passwords of the system users. During a rotation there are
// two of each, and every server accepts both.
type ring struct{ current, next, previous pair }

// A pair is a password for each system user.
type pair struct{ operator, repl string }

func (p pair) complete() bool { return p.operator != "" && p.repl != "" }

// ringOf reads a ring from the data of its Secret.
func ringOf(data map[string][]byte) ring {
	of := func(operator, repl string) pair { return pair{string(data[operator]), string(data[repl])} }
	return ring{
		current:  of(manifest.KeyOperatorPassword, manifest.KeyReplPassword),
		next:     of(manifest.KeyNextOperatorPassword, manifest.KeyNextReplPassword),
		previous: of(manifest.KeyPreviousOperatorPassword, manifest.KeyPreviousReplPassword),
	}
}

// data writes a ring as the data of its Secret.
func (r ring) data() map[string][]byte {
	out := map[string][]byte{}
	for k, v := range map[string]string{
		manifest.KeyOperatorPassword: r.current.operator, manifest.KeyReplPassword: r.current.repl,
		manifest.KeyNextOperatorPassword: r.next.operator, manifest.KeyNextReplPassword: r.next.repl,
		manifest.KeyPreviousOperatorPassword: r.previous.operator, manifest.KeyPreviousReplPassword: r.previous.repl,
	} {
		if v != "" {
			out[k] = []byte(v)
		}
	}
	return out
}

func (r ring) rotating() bool { return r.next != pair{} || r.previous != pair{} }

// system returns the hashes of all passwords that servers accept.
func (r ring) system() acl.System {
	out := acl.System{}
	for _, p := range []pair{r.current, r.next, r.previous} {
		out.OperatorHashes = appendHash(out.OperatorHashes, p.operator)
		out.ReplHashes = appendHash(out.ReplHashes, p.repl)
	}
	return out
}

func appendHash(hashes []string, password string) []string {
	if password == "" {
		return hashes
	}
	sum := sha256.Sum256([]byte(password))
	return append(hashes, hex.EncodeToString(sum[:]))
}

// logins returns the passwords to try on a server, the most likely ones first. A
// server that missed a change accepts one of the later ones.
func logins(rings ...ring) []string {
	var out []string
	for _, r := range rings {
		for _, p := range []pair{r.current, r.next, r.previous} {
			if p.operator != "" && !slices.Contains(out, p.operator) {
				out = append(out, p.operator)
			}
		}
	}
	return out
}

// newPair makes passwords.
func newPair() (pair, error) {
	operator, err := password()
	if err != nil {
		return pair{}, err
	}
	repl, err := password()
	return pair{operator, repl}, err
}

func password() (string, error) {
	b := make([]byte, passwordBytes)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("cannot make a password: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// A rotation is what decides about the next step of replacing the passwords.
type rotation struct {
	// request is the value by which somebody asks for it, empty for nobody.
	request string
	// maxAge is after how long it is due anyhow, 0 for never.
	maxAge time.Duration
	now    time.Time
}

// step returns the Secret with the next step of a rotation done, and in words
// what is worth telling of it, or nil if there is nothing to do. A step is taken
// once every server has caught up with the one before:
//
//  1. A second pair of passwords is added. Servers accept both.
//  2. The second pair becomes the one in use, by the provider and among servers.
//  3. The first pair is removed.
//
// All that is known of a rotation is in the Secret.
func (r rotation) step(s *corev1.Secret) (*corev1.Secret, string, error) {
	have := ringOf(s.Data)
	out := s.DeepCopy()
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	told := ""
	switch {
	case have.next.complete():
		have = ring{current: have.next, previous: have.current}
		out.Annotations[manifest.AnnotationPasswordsMade] = r.now.UTC().Format(time.RFC3339)
	case have.previous != pair{}:
		have = ring{current: have.current}
		told = "the passwords of the system users were replaced"
	case r.due(s):
		next, err := newPair()
		if err != nil {
			return nil, "", err
		}
		have = ring{current: have.current, next: next}
		out.Annotations[manifest.AnnotationRotatedFor] = r.request
		told = "replacing the passwords of the system users"
	default:
		return nil, "", nil
	}
	out.Data = have.data()
	return out, told, nil
}

// due tells whether a rotation should begin.
func (r rotation) due(s *corev1.Secret) bool {
	if r.request != "" && r.request != s.Annotations[manifest.AnnotationRotatedFor] {
		return true
	}
	return r.maxAge > 0 && r.now.Sub(made(s)) > r.maxAge
}

// made returns when the passwords were made. Those of a Secret that does not say
// are as old as it is.
func made(s *corev1.Secret) time.Time {
	if t, err := time.Parse(time.RFC3339, s.Annotations[manifest.AnnotationPasswordsMade]); err == nil {
		return t
	}
	return s.CreationTimestamp.Time
}

// sameKeys tells whether two Secrets hold the same passwords.
func sameKeys(a, b *corev1.Secret) bool {
	return maps.EqualFunc(a.Data, b.Data, func(x, y []byte) bool { return string(x) == string(y) })
}
