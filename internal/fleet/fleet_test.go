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

package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns a time that is later for a greater number.
func at(n int) time.Time { return time.Unix(int64(n), 0) }

func wants(name string, edits ...func(*Cluster)) Cluster {
	c := Cluster{Namespace: "n", Name: name, Created: at(0), Wants: true}
	for _, e := range edits {
		e(&c)
	}
	return c
}

func created(n int) func(*Cluster)  { return func(c *Cluster) { c.Created = at(n) } }
func priority(n int) func(*Cluster) { return func(c *Cluster) { c.Priority = n } }
func holds(c *Cluster)              { c.Holds = true }
func stalled(c *Cluster)            { c.Stalled = true }
func stalledAt(n int) func(*Cluster) {
	return func(c *Cluster) { c.Stalled, c.StalledAt = true, at(n) }
}
func absent(c *Cluster)  { c.Absent = true }
func content(c *Cluster) { c.Wants = false }

func names(cs []Cluster) []string {
	out := []string{}
	for _, c := range cs {
		out = append(out, c.Name)
	}
	return out
}

func TestForm(t *testing.T) {
	type line struct {
		Rolling, Waiting, Next []string
		Crowded                bool
	}
	cases := map[string]struct {
		reason   string
		places   int
		clusters []Cluster
		want     line
	}{
		"Nobody": {
			reason: "Clusters that want nothing have no place.",
			places: 2, clusters: []Cluster{wants("a", content)},
			want: line{[]string{}, []string{}, []string{}, false},
		},
		"RoomForAll": {
			reason: "Nobody waits where there are places enough.",
			places: 2, clusters: []Cluster{wants("a"), wants("b")},
			want: line{[]string{}, []string{"a", "b"}, []string{"a", "b"}, false},
		},
		"Priority": {
			reason: "The most important comes first, below zero is last.",
			places: 1, clusters: []Cluster{wants("a"), wants("b", priority(-1)), wants("c", priority(7))},
			want: line{[]string{}, []string{"c", "a", "b"}, []string{"c"}, false},
		},
		"Age": {
			reason: "Among equals the oldest comes first.",
			places: 1, clusters: []Cluster{wants("a", created(2)), wants("b", created(1))},
			want: line{[]string{}, []string{"b", "a"}, []string{"b"}, false},
		},
		"Name": {
			reason: "Among those of the same age the name decides, so that the order is always the same.",
			places: 1, clusters: []Cluster{wants("b"), wants("a")},
			want: line{[]string{}, []string{"a", "b"}, []string{"a"}, false},
		},
		"Full": {
			reason: "Whoever has a place keeps it, even from one that is more important.",
			places: 1, clusters: []Cluster{wants("a", holds), wants("b", priority(9))},
			want: line{[]string{"a"}, []string{"b"}, []string{}, true},
		},
		"Fewer": {
			reason: "Rolls go on where the number of places was reduced, and no other begins.",
			places: 1, clusters: []Cluster{wants("a", holds), wants("b", holds), wants("c")},
			want: line{[]string{"a", "b"}, []string{"c"}, []string{}, true},
		},
		"LastSteps": {
			reason: "A cluster keeps its place until the last of its old members is gone.",
			places: 1, clusters: []Cluster{wants("a", holds, content), wants("b")},
			want: line{[]string{"a"}, []string{"b"}, []string{}, true},
		},
		"Stalled": {
			reason: "One that stalled had its turn, and comes after those that had not.",
			places: 1, clusters: []Cluster{wants("a", stalled, priority(9)), wants("b"), wants("c", stalled)},
			want: line{[]string{}, []string{"b", "a", "c"}, []string{"b"}, false},
		},
		"StalledTakeTurns": {
			reason: "One that stalls for ever keeps no other out that stalled once, however important it is.",
			places: 1, clusters: []Cluster{wants("a", stalledAt(2), priority(9)), wants("b", stalledAt(1))},
			want: line{[]string{}, []string{"b", "a"}, []string{"b"}, false},
		},
		"Absent": {
			reason: "A place is not kept for ever for one whose passes fail.",
			places: 1, clusters: []Cluster{wants("a", priority(9), absent), wants("b"), wants("c")},
			want: line{[]string{}, []string{"a", "b", "c"}, []string{"b"}, false},
		},
		"OneFree": {
			reason: "A free place goes to one only.",
			places: 3, clusters: []Cluster{wants("a", holds), wants("b", holds), wants("c"), wants("d")},
			want: line{[]string{"a", "b"}, []string{"c", "d"}, []string{"c"}, false},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := Form(tc.places, tc.clusters)
			got := line{names(l.Rolling), names(l.Waiting), names(l.Next()), l.Crowded()}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nForm(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBefore(t *testing.T) {
	l := Form(2, []Cluster{wants("a", holds), wants("b"), wants("c"), wants("d"), wants("e", absent)})
	for name, want := range map[string]int{"a": -1, "b": 0, "c": 0, "d": 1, "e": 2} {
		got, ok := l.Before("n", name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("Before(%q) is %d, want %d", name, got, want)
		}
	}
	if _, ok := l.Before("m", "b"); ok {
		t.Error("a cluster of the same name in another namespace waits")
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(l.Now())); diff != "" {
		t.Errorf("Now(): -want, +got:\n%s", diff)
	}
}

func TestPriority(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   int
		bad    string
	}{
		"None":     {"Without the annotation it is zero.", "", 0, ""},
		"Number":   {"Higher is sooner.", "12", 12, ""},
		"Negative": {"Below zero is later than the others.", "-3", -3, ""},
		"Word":     {"What is no integer is told.", "soon", 0, `"soon" is not an integer`},
		"Fraction": {"So is a fraction.", "1.5", 0, `"1.5" is not an integer`},
		"Huge":     {"So is what no integer holds.", "99999999999999999999", 0, `"99999999999999999999" is not an integer`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Priority(tc.text)
			bad := ""
			if err != nil {
				bad = err.Error()
			}
			if got != tc.want || bad != tc.bad {
				t.Errorf("%s\nPriority(%q) is %d, %q, want %d, %q", tc.reason, tc.text, got, bad, tc.want, tc.bad)
			}
		})
	}
}
