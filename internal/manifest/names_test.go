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

package manifest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	got := []string{ServiceName("c"), AuthSecretName("c"), ACLSecretName("c"), TLSSecretName("c"), ConfigSecretName("c-01234"), PDBName("c", 3), NetworkPolicyName("c")}
	want := []string{"c", "c-operator-auth", "c-acl", "c-operator-tls", "c-01234-config", "c-shard-3", "c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNodeName(t *testing.T) {
	a := NodeName("cache", "seed")
	if !regexp.MustCompile(`^cache-[0-9a-f]{5}$`).MatchString(a) {
		t.Errorf("got %q", a)
	}
	if a != NodeName("cache", "seed") || a == NodeName("cache", "other") {
		t.Errorf("a name does not follow from its seed")
	}
}

func TestCheckClusterName(t *testing.T) {
	cases := map[string]struct {
		reason, name string
		ok           bool
	}{
		"Short":   {"One letter is enough.", "c", true},
		"Longest": {"The longest that leaves room for a member's suffix.", strings.Repeat("c", 57), true},
		"TooLong": {"One more and the host name is too long.", strings.Repeat("c", 58), false},
		"Dot":     {"A Service has no dots.", "a.b", false},
		"Digit":   {"Nor does it begin with a digit.", "1a", false},
		"Hyphen":  {"Nor does it end with a hyphen.", "a-", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			msg := CheckClusterName(tc.name)
			if (msg == "") != tc.ok {
				t.Errorf("%s: got %q", tc.reason, msg)
			}
			if tc.ok && len(validation.IsDNS1123Label(NodeName(tc.name, "x"))) > 0 {
				t.Errorf("%s: %q is no host name", tc.reason, NodeName(tc.name, "x"))
			}
		})
	}
}
