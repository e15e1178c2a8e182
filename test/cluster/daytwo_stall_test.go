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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// A roll whose replacements do not become healthy stops, says why, and leaves every
// serving member alone; going back to the old spec ends it without replacing any.
func TestDayTwoRollStalls(t *testing.T) {
	cases := map[string]struct {
		reason string
		before func(*watched)
		breaks func(*v1alpha1.ValkeyConfigSpec)
		told   []string
		inCI   bool
	}{
		"Crash": {
			reason: "The server ends at once; its last words are told.",
			breaks: func(c *v1alpha1.ValkeyConfigSpec) { c.Valkey["maxmemory-policy"] = "nonsense" },
			told:   []string{"maxmemory-policy", "correct this setting in the ValkeyConfig"},
			inCI:   true,
		},
		"Unschedulable": {
			reason: "No node has room for the new size.",
			breaks: func(c *v1alpha1.ValkeyConfigSpec) {
				c.Resources = &v1alpha1.ConfigResources{Memory: "512Mi", CPU: "64"}
			},
			told: []string{"the pod cannot be scheduled", "Insufficient cpu"},
		},
		"Downgrade": {
			reason: "A newer server sends an older one what that can read, unless there is something that it cannot: a field that expires.",
			before: func(w *watched) {
				// So many that every shard has some: one without could be rolled.
				for i := range 30 {
					key := fmt.Sprintf("expiring:%d", i)
					w.send("HSET", key, "field", "value")
					w.send("HEXPIRE", key, "3600", "FIELDS", "1", "field")
				}
			},
			breaks: func(c *v1alpha1.ValkeyConfigSpec) { c.ImageRef = menu("8.0") },
			told:   []string{"8.0", "older"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if !tc.inCI {
				onlyFull(t)
			}
			t.Log(tc.reason)
			w := watch(t, 8, newest, 1)
			if tc.before != nil {
				tc.before(w)
			}
			before := w.names()
			var was v1alpha1.ValkeyConfigSpec
			w.step("break", func() {
				w.changeConfig(func(c *v1alpha1.ValkeyConfigSpec) {
					c.DeepCopyInto(&was)
					tc.breaks(c)
				})
			}, func() { w.awaitTold(w.cluster, time.Minute, tc.told...) })
			now := w.names()
			for _, n := range before {
				if !slices.Contains(now, n) {
					t.Errorf("%s is gone although nothing replaced it", n)
				}
			}
			w.step("go back", func() {
				w.changeConfig(func(c *v1alpha1.ValkeyConfigSpec) { was.DeepCopyInto(c) })
			}, w.settle(nil))
			if diff := cmp.Diff(before, w.names()); diff != "" {
				t.Errorf("members after going back: -want, +got:\n%s", diff)
			}
			w.failoversAtMost(0)
			w.unharmed(handoverStall)
		})
	}
}

// send sends a command to the cluster.
func (w *watched) send(args ...string) {
	w.Helper()
	c, err := witness.NewClient(w.options)
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(w.Context(), c.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).Error(); err != nil {
		w.Fatal(err)
	}
}

// names returns the sorted names of the cluster's members.
func (w *watched) names() []string {
	w.Helper()
	ns, err := w.nodes(w.Context(), w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, n := range ns {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}
