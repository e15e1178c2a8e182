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

package catalog

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

var images = map[string]v1alpha1.ValkeyImageSpec{
	"v8": {Repository: "valkey/valkey", Tag: "8.1.1-alpine", Version: "8.1.1"},
	"v9": {Repository: "valkey/valkey", Tag: "9.1.2", Version: "9.1.2"},
}

// chainOf makes a chain of n configs, c1 to cn, with the image at the end.
func chainOf(n int) map[string]v1alpha1.ValkeyConfigSpec {
	out := map[string]v1alpha1.ValkeyConfigSpec{fmt.Sprintf("c%d", n): {ImageRef: "v8"}}
	for i := 1; i < n; i++ {
		out[fmt.Sprintf("c%d", i)] = v1alpha1.ValkeyConfigSpec{BaseRef: fmt.Sprintf("c%d", i+1)}
	}
	return out
}

func names(n int) []string {
	var out []string
	for i := 1; i <= n; i++ {
		out = append(out, fmt.Sprintf("c%d", i))
	}
	return out
}

func size(cpu, memory string) *v1alpha1.ConfigResources {
	return &v1alpha1.ConfigResources{CPU: cpu, Memory: memory}
}

func acl(names ...string) *[]v1alpha1.ACLBinding {
	out := []v1alpha1.ACLBinding{}
	for _, n := range names {
		out = append(out, v1alpha1.ACLBinding{Username: n})
	}
	return &out
}

func TestResolve(t *testing.T) {
	type configs = map[string]v1alpha1.ValkeyConfigSpec
	cases := map[string]struct {
		reason  string
		configs configs
		want    Resolved
		err     *Error
	}{
		"Single": {
			reason:  "A config without a base is the whole result.",
			configs: configs{"c1": {ImageRef: "v9", Resources: size("1", "2Gi"), Valkey: map[string]string{"maxmemory": "1gb"}, ACL: acl("a")}},
			want:    Resolved{Image: "valkey/valkey:9.1.2", Version: "9.1.2", CPU: "1", Memory: "2Gi", Settings: map[string]string{"maxmemory": "1gb"}, ACL: *acl("a"), Chain: names(1)},
		},
		"NearestWinsFieldByField": {
			reason: "Image, CPU and memory come each from the nearest config that sets it; settings merge by key.",
			configs: configs{
				"c1": {BaseRef: "c2", Resources: size("4", ""), Valkey: map[string]string{"maxmemory": "12gb"}},
				"c2": {BaseRef: "c3", ImageRef: "v9", Resources: size("1", "16Gi")},
				"c3": {ImageRef: "v8", Resources: size("2", "2Gi"), Valkey: map[string]string{"maxmemory": "1gb", "maxmemory-policy": "allkeys-lru"}},
			},
			want: Resolved{Image: "valkey/valkey:9.1.2", Version: "9.1.2", CPU: "4", Memory: "16Gi", Settings: map[string]string{"maxmemory": "12gb", "maxmemory-policy": "allkeys-lru"}, Chain: names(3)},
		},
		"EmptySettingWins": {
			reason: "An empty value is a value.",
			configs: configs{
				"c1": {BaseRef: "c2", Valkey: map[string]string{"save": ""}},
				"c2": {ImageRef: "v8", Valkey: map[string]string{"save": "900 1"}},
			},
			want: Resolved{Image: "valkey/valkey:8.1.1-alpine", Version: "8.1.1", Settings: map[string]string{"save": ""}, Chain: names(2)},
		},
		"ACLReplaces": {
			reason: "A list of users replaces the base's as a whole.",
			configs: configs{
				"c1": {BaseRef: "c2", ACL: acl("a")},
				"c2": {ImageRef: "v8", ACL: acl("b", "c")},
			},
			want: Resolved{Image: "valkey/valkey:8.1.1-alpine", Version: "8.1.1", Settings: map[string]string{}, ACL: *acl("a"), Chain: names(2)},
		},
		"EmptyACLReplaces": {
			reason: "An empty list is set, and removes the base's users.",
			configs: configs{
				"c1": {BaseRef: "c2", ACL: acl()},
				"c2": {ImageRef: "v8", ACL: acl("b")},
			},
			want: Resolved{Image: "valkey/valkey:8.1.1-alpine", Version: "8.1.1", Settings: map[string]string{}, ACL: *acl(), Chain: names(2)},
		},
		"TenDeep": {
			reason:  "A chain of ten configs is the longest that resolves.",
			configs: chainOf(10),
			want:    Resolved{Image: "valkey/valkey:8.1.1-alpine", Version: "8.1.1", Settings: map[string]string{}, Chain: names(10)},
		},
		"ElevenDeep": {
			reason:  "A chain of eleven configs is too long.",
			configs: chainOf(11),
			err:     &Error{Reason: ReasonTooDeep, Message: "config inheritance depth exceeds 10 (cycle?)"},
		},
		"Cycle": {
			reason:  "A cycle is a chain that never ends.",
			configs: configs{"c1": {ImageRef: "v8", BaseRef: "c2"}, "c2": {BaseRef: "c1"}},
			err:     &Error{Reason: ReasonTooDeep, Message: "config inheritance depth exceeds 10 (cycle?)"},
		},
		"ConfigNotFound": {
			reason: "The referenced config must exist.",
			err:    &Error{Reason: ReasonConfigNotFound, Message: `ValkeyConfig "c1" not found`},
		},
		"BaseNotFound": {
			reason:  "A base must exist even if the child has all that is needed.",
			configs: configs{"c1": {ImageRef: "v8", BaseRef: "gone"}},
			err:     &Error{Reason: ReasonConfigNotFound, Message: `ValkeyConfig "gone" not found`},
		},
		"NoImage": {
			reason:  "The message names the config where the search for an image ended.",
			configs: configs{"c1": {BaseRef: "c2"}, "c2": {}},
			err:     &Error{Reason: ReasonNoImage, Message: `no image_ref in config chain ending at "c2"`},
		},
		"ImageNotFound": {
			reason:  "The nearest image counts, also when a base has one that exists.",
			configs: configs{"c1": {ImageRef: "v7", BaseRef: "c2"}, "c2": {ImageRef: "v8"}},
			err:     &Error{Reason: ReasonImageNotFound, Message: `ValkeyImage "v7" not found`},
		},
		"BadMemory": {
			reason:  "A quantity that cannot be parsed would panic later; the message names the config that has it.",
			configs: configs{"c1": {BaseRef: "c2", Resources: size("1", "")}, "c2": {ImageRef: "v8", Resources: size("", "2GiB")}},
			err:     &Error{Reason: ReasonInvalidResources, Message: `ValkeyConfig "c2": resources.memory "2GiB" is not a quantity, write for example 512Mi or 2Gi`},
		},
		"ZeroCPU": {
			reason:  "A limit of zero is none.",
			configs: configs{"c1": {ImageRef: "v8", Resources: size("0", "")}},
			err:     &Error{Reason: ReasonInvalidResources, Message: `ValkeyConfig "c1": resources.cpu "0" must be greater than zero`},
		},
		"NegativeMemory": {
			reason:  "A negative amount is no amount.",
			configs: configs{"c1": {ImageRef: "v8", Resources: size("", "-1Gi")}},
			err:     &Error{Reason: ReasonInvalidResources, Message: `ValkeyConfig "c1": resources.memory "-1Gi" must be greater than zero`},
		},
		"OverriddenBadValue": {
			reason:  "A bad value that never applies does no harm.",
			configs: configs{"c1": {ImageRef: "v8", BaseRef: "c2", Resources: size("1", "")}, "c2": {Resources: size("many", "")}},
			want:    Resolved{Image: "valkey/valkey:8.1.1-alpine", Version: "8.1.1", CPU: "1", Settings: map[string]string{}, Chain: names(2)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Resolve(Catalog{Images: images, Configs: tc.configs}, "c1")
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%s: error %v has the wrong type", tc.reason, err)
			}
			if diff := cmp.Diff(tc.err, e); diff != "" {
				t.Errorf("%s: error: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if err != nil && err.Error() != e.Message {
				t.Errorf("%s: Error() is %q", tc.reason, err)
			}
		})
	}
}

func TestResolveLeavesCatalogAlone(t *testing.T) {
	c := Catalog{Images: images, Configs: map[string]v1alpha1.ValkeyConfigSpec{
		"c1": {ImageRef: "v8", Valkey: map[string]string{"a": "1"}, ACL: acl("a")},
	}}
	got, err := Resolve(c, "c1")
	if err != nil {
		t.Fatal(err)
	}
	got.Settings["b"] = "2"
	got.ACL[0].Username = "b"
	if len(c.Configs["c1"].Valkey) != 1 || (*c.Configs["c1"].ACL)[0].Username != "a" {
		t.Errorf("a change of the result reached the catalog, which may be a cache: %v", c.Configs["c1"])
	}
}

func TestReferences(t *testing.T) {
	type configs = map[string]v1alpha1.ValkeyConfigSpec
	cases := map[string]struct {
		reason          string
		configs         configs
		wantC, wantImgs []string
	}{
		"Complete":      {"The chain and its image are watched.", configs{"c1": {BaseRef: "c2"}, "c2": {ImageRef: "v8"}}, names(2), []string{"v8"}},
		"MissingConfig": {"A config that does not exist is waited for.", nil, names(1), nil},
		"MissingBase":   {"So is a base, and the image that is known already.", configs{"c1": {ImageRef: "v7", BaseRef: "c2"}}, names(2), []string{"v7"}},
		"NearestImage":  {"An image that is overridden does not matter.", configs{"c1": {ImageRef: "v9", BaseRef: "c2"}, "c2": {ImageRef: "v8"}}, names(2), []string{"v9"}},
		"Cycle":         {"Every config of a cycle is named once.", configs{"c1": {BaseRef: "c2"}, "c2": {BaseRef: "c1"}}, names(2), nil},
		"TooDeep":       {"What is beyond the longest chain cannot repair it.", chainOf(12), names(10), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			gotC, gotImgs := References(Catalog{Configs: tc.configs}, "c1")
			if diff := cmp.Diff(tc.wantC, gotC); diff != "" {
				t.Errorf("%s: configs: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.wantImgs, gotImgs); diff != "" {
				t.Errorf("%s: images: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
