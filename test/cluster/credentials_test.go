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
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// A vault keeps every credential that a test run has seen in a Secret, with where
// that was.
type vault struct {
	mu sync.Mutex
	// heads finds credentials by how they begin: a log is long, and they are many.
	heads map[string][]credential
}

type credential struct{ value, where string }

var credentials = vault{heads: map[string][]credential{}}

// leastCredential keeps words from being taken for credentials.
const leastCredential = 16

// keep adds the credentials of a Secret: passwords, and private keys line by line.
func (v *vault) keep(s *corev1.Secret) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, value := range s.Data {
		where := fmt.Sprintf("%s/%s %s", s.Namespace, s.Name, key)
		if strings.HasSuffix(key, "-password") {
			v.add(string(value), where)
		}
		if block, _ := pem.Decode(value); block != nil && strings.HasSuffix(block.Type, "PRIVATE KEY") {
			for line := range strings.SplitSeq(string(value), "\n") {
				if !strings.HasPrefix(line, "-----") {
					v.add(line, where)
				}
			}
		}
	}
}

func (v *vault) add(value, where string) {
	if len(value) < leastCredential {
		return
	}
	head := value[:leastCredential]
	same := func(c credential) bool { return c.value == value }
	if !slices.ContainsFunc(v.heads[head], same) {
		v.heads[head] = append(v.heads[head], credential{value, where})
	}
}

// leaks returns what of a text is a credential, by where it belongs.
func (v *vault) leaks(text string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := map[string]bool{}
	for i := 0; i+leastCredential <= len(text); i++ {
		for _, c := range v.heads[text[i:i+leastCredential]] {
			if strings.HasPrefix(text[i:], c.value) {
				found[c.where] = true
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("the credentials of %s", strings.Join(slices.Sorted(maps.Keys(found)), ", "))
}

// keepCredentials notes what the space's Secrets hold now.
func (s *space) keepCredentials(ctx context.Context) error {
	l := &corev1.SecretList{}
	if err := kube.List(ctx, l, client.InNamespace(s.name)); err != nil {
		return err
	}
	for i := range l.Items {
		credentials.keep(&l.Items[i])
	}
	return nil
}

// tellsNoSecrets fails the test if a credential is anywhere but in a Secret.
func (s *space) tellsNoSecrets(ctx context.Context) {
	s.Helper()
	if err := s.keepCredentials(ctx); err != nil {
		s.Error(err)
	}
	for _, l := range []client.ObjectList{&corev1.EventList{}, &v1alpha1.ValkeyClusterList{}, &v1alpha1.ValkeyNodeList{}, &corev1.PodList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}} {
		if err := kube.List(ctx, l, client.InNamespace(s.name)); err != nil {
			s.Error(err)
		}
		text, err := json.Marshal(l)
		if err != nil {
			s.Error(err)
		}
		if err := credentials.leaks(string(text)); err != nil {
			s.Errorf("%T holds %v", l, err)
		}
	}
}

// tellsNoSecrets returns an error if the provider's log or metrics hold a
// credential that any test has seen.
func (p *process) tellsNoSecrets(ctx context.Context) error {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if len(log) == 0 || len(metrics) == 0 {
		return errors.New("the provider has no log or no metrics to look into")
	}
	if err := credentials.leaks(string(log) + string(metrics)); err != nil {
		return fmt.Errorf("the provider's log or metrics hold %w", err)
	}
	return nil
}

func TestCredentialsAreRecognised(t *testing.T) {
	v := vault{heads: map[string][]credential{}}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte(strings.Repeat("secret", 20))})
	v.keep(&corev1.Secret{Data: map[string][]byte{"operator-password": []byte("0123456789abcdef"), "tls.key": key, "ca.crt": []byte("0123456789abcdefg")}})
	for text, leak := range map[string]bool{
		"user x has 0123456789abcdef":                 true,
		string(key[40:120]):                           true,
		"user x has 0123456789abcde and ca.crt":       false,
		"-----BEGIN PRIVATE KEY-----":                 false,
		"nothing at all, not even a word of a secret": false,
	} {
		if got := v.leaks(text) != nil; got != leak {
			t.Errorf("%q: leak %t", text, got)
		}
	}
}
