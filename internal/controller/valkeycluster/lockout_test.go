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
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

func TestAdmittable(t *testing.T) {
	member := func(name, id string, err error) *node {
		o := &v1alpha1.ValkeyNode{}
		o.SetName(name)
		o.Status.NodeID = id
		return &node{obj: o, err: err}
	}
	shut := &valkey.ServerError{Code: "WRONGPASS"}
	nodes := []*node{member("known", "1", shut), member("new", "", shut), member("down", "2", errors.New("no route"))}
	cases := map[string]struct {
		reason string
		r      *resolved
		want   []string
	}{
		"Open":    {reason: "A member without an id may be somebody else's server at its address.", r: &resolved{}, want: []string{"known"}},
		"Bound":   {reason: "Where users are bound nobody comes in without a password.", r: &resolved{users: []acl.User{{Name: "app"}}}},
		"Unknown": {reason: "Nor where it is not known whether users are bound."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range admittable(tc.r, nodes) {
				got = append(got, n.obj.GetName())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s admittable(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
