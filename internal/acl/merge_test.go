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

package acl

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

func users(names ...string) []v1alpha1.ACLBinding {
	var out []v1alpha1.ACLBinding
	for _, n := range names {
		out = append(out, v1alpha1.ACLBinding{Username: n})
	}
	return out
}

func TestMerge(t *testing.T) {
	cases := map[string]struct {
		reason          string
		config, cluster []v1alpha1.ACLBinding
		want            []v1alpha1.ACLBinding
		err             error
	}{
		"Neither":       {"No bindings are fine.", nil, nil, nil, nil},
		"Both":          {"A cluster's bindings are added to those of its config.", users("a", "b"), users("c"), users("a", "b", "c"), nil},
		"Across":        {"A cluster cannot take over a user of its config.", users("a", "b"), users("b"), nil, &DuplicateError{Username: "b"}},
		"Within":        {"Nor is a user defined twice in one place.", users("a", "a"), nil, nil, &DuplicateError{Username: "a"}},
		"CaseSensitive": {"Usernames differ by case.", users("a"), users("A"), users("a", "A"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Merge(tc.config, tc.cluster)
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Errorf("%s: error: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
	if got, want := (&DuplicateError{Username: "u"}).Error(), `duplicate username "u" in merged ACL bindings`; got != want {
		t.Errorf("message is %q, not %q", got, want)
	}
}
