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

package valkey

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseShards(t *testing.T) {
	node := func(id string) any { return []any{"id", id, "port", int64(6379)} }
	cases := map[string]struct {
		reason string
		reply  any
		want   [][]string
		bad    bool
	}{
		"Lists": {
			reason: "RESP2 has flat lists of names and values.",
			reply:  []any{[]any{"slots", []any{int64(0), int64(5)}, "nodes", []any{node("a"), node("b")}}, []any{"slots", []any{}, "nodes", []any{node("c")}}},
			want:   [][]string{{"a", "b"}, {"c"}},
		},
		"Maps": {
			reason: "RESP3 has maps.",
			reply:  []any{map[string]any{"slots": []any{}, "nodes": []any{map[string]any{"id": "a"}}}},
			want:   [][]string{{"a"}},
		},
		"None":       {reason: "No shard is no error.", reply: []any{}},
		"NoList":     {reason: "Shards are a list.", reply: "OK", bad: true},
		"BrokenPair": {reason: "Names come with values.", reply: []any{[]any{"nodes"}}, bad: true},
		"NoNodes":    {reason: "A shard has nodes.", reply: []any{[]any{"slots", []any{}}}, bad: true},
		"BrokenNode": {reason: "A node has names and values.", reply: []any{[]any{"nodes", []any{"a"}}}, bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseShards(tc.reply)
			if (err != nil) != tc.bad {
				t.Fatalf("%s parseShards(...): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s parseShards(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzParseShards(f *testing.F) {
	f.Add("id\na", "nodes")
	f.Add("id", "slots")
	f.Fuzz(func(t *testing.T, node, key string) {
		var words []any
		for w := range strings.SplitSeq(node, "\n") {
			words = append(words, w)
		}
		got, err := parseShards([]any{map[string]any{key: []any{words}}})
		if err == nil && (key != "nodes" || len(words)%2 != 0 || len(got) != 1) {
			t.Errorf("parseShards(...) of %q in %q: %v", node, key, got)
		}
	})
}
