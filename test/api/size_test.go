//go:build api

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

package api

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// largest returns as many users, permissions and keys as the rules allow, each
// key with a pattern of n characters.
func largest(n int) list {
	keys := times(16, key(strings.Repeat("k", n)))
	permissions := times(16, permission(object{"keys": keys}))
	return each(64, func(i int) any {
		return binding(object{"username": fmt.Sprintf("user-%d", i), "permissions": permissions})
	})
}

// sizeless replaces the size that etcd's client tells, which depends on how the
// API server encodes an object.
func sizeless(causes []string) []string {
	for i, c := range causes {
		causes[i] = regexp.MustCompile(`\d+ vs`).ReplaceAllString(c, "SIZE vs")
	}
	return causes
}

// TestSize finds out what limits an object besides the rules: a request has at
// most 3 MiB, and what etcd stores at most 1.5 MiB.
func TestSize(t *testing.T) {
	cases := map[string]struct {
		reason string
		length int
		want   []string
	}{
		"ShortPatterns":   {"As many patterns as the rules allow fit when they are short.", 32, nil},
		"LongPatterns":    {"What etcd cannot store is refused with its reason.", 64, []string{"etcdserver: request is too large"}},
		"LongerPatterns":  {"What cannot even be sent to etcd is refused with the limit.", 128, []string{"rpc error: code = ResourceExhausted desc = trying to send message larger than max (SIZE vs. 2097152)"}},
		"LongestPatterns": {"What is too large for a request is refused with the limit.", 256, []string{"Request entity too large: limit is 3145728"}},
	}

	kinds := map[string]func(changes ...object) *unstructured.Unstructured{"ValkeyCluster": cluster, "ValkeyConfig": menu}
	for kind, of := range kinds {
		for name, tc := range cases {
			t.Run(kind+"/"+name, func(t *testing.T) {
				u := of(object{"acl": largest(tc.length)})
				err := kube.Create(background, u)
				if err == nil {
					t.Cleanup(func() { _ = kube.Delete(background, u) })
				}
				if diff := cmp.Diff(tc.want, sizeless(causes(err))); diff != "" {
					t.Errorf("\n%s\ncreate(...): -want, +got:\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// TestTargetSpecSize finds out how large a spec may be to fit into an object
// twice, as spec and as status.targetSpec.
func TestTargetSpecSize(t *testing.T) {
	cases := map[string]struct {
		reason string
		length int
		want   []string
	}{
		"Half": {"A spec of half of what fits can be its own target.", 1, nil},
		"More": {"A larger one cannot.", 32, []string{"rpc error: code = ResourceExhausted desc = trying to send message larger than max (SIZE vs. 2097152)"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := cluster(object{"acl": largest(tc.length)})
			store(t, u)
			u.Object["status"] = object{"targetSpec": u.DeepCopy().Object["spec"]}
			if diff := cmp.Diff(tc.want, sizeless(causes(kube.Status().Update(background, u)))); diff != "" {
				t.Errorf("\n%s\nStatus().Update(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
