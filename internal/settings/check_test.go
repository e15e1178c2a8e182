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

package settings

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	const takes = "Valkey takes a whole number with one of the units b, k, kb, m, mb, g, gb"
	cases := map[string]struct {
		reason string
		key    string
		want   map[string]string // value to what follows in the message
	}{
		"Memory": {
			reason: "Amounts are written in Valkey's units, not in those of Kubernetes.",
			key:    "maxmemory",
			want: map[string]string{
				"0": "", "1024": "", "1b": "", "1K": "", "1kb": "", "2m": "", "2MB": "", "3g": "", "3Gb": "", "": "",
				"2Gi":   takes + ", write 2gb",
				"512Mi": takes + ", write 512mb",
				"1.5Gi": takes + ", write 1536mb",
				"1.5gb": takes + ", write 1536mb",
				"2 gb":  takes + ", write 2gb",
				"2gb ":  takes + ", write 2gb",
				"1T":    takes + ", write 1000g",
				"1Ti":   takes + ", write 1024gb",
				"1/3":   takes,
				"-1":    takes,
				"75%":   takes,
				"lots":  takes,
				"1..5":  takes,
				"0.3b":  takes,
			},
		},
		"Percent": {
			reason: "One setting takes a share of maxmemory.",
			key:    "maxmemory-clients",
			want:   map[string]string{"5%": "", "0%": "", "1gb": "", "%": takes, "-5%": takes, "1.5%": takes},
		},
		"LeastBuffer": {
			reason: "Some settings have a least value.",
			key:    "client-query-buffer-limit",
			want:   map[string]string{"1mb": "", "1m": "the least that Valkey takes is 1mb", "100": "the least that Valkey takes is 1mb"},
		},
		"Backlog": {
			reason: "Others only must not be nothing.",
			key:    "repl-backlog-size",
			want:   map[string]string{"1": "", "0": "the least that Valkey takes is 1", "10Mi": takes + ", write 10mb"},
		},
		"MaxClients": {
			reason: "Huge numbers of clients block a server.",
			key:    "maxclients",
			want: map[string]string{
				"1": "", "1000000": "",
				"1000001":              "a server blocks while it tries so many, write at most 1000000",
				"99999999999999999999": "write a whole number from 1 to 1000000",
				"0":                    "write a whole number from 1 to 1000000",
				"":                     "write a whole number from 1 to 1000000",
				"10k":                  "write a whole number from 1 to 1000000",
			},
		},
		"Zone": {
			reason: "A zone that cannot be read back stops a server at its next start.",
			key:    "availability-zone",
			want: map[string]string{
				"": "", "us-east-1a": "", "rack_1.b": "",
				"a b": "use letters, digits, dots, hyphens and underscores only",
				"a\n": "use letters, digits, dots, hyphens and underscores only",
				"a,b": "use letters, digits, dots, hyphens and underscores only",
			},
		},
		"Unknown": {
			reason: "What is not known is the server's to judge.",
			key:    "some-setting",
			want:   map[string]string{"2Gi": "", "": "", "x\ny": ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for value, msg := range tc.want {
				var want []Problem
				if msg != "" {
					want = []Problem{{Key: tc.key, Value: value, Message: "setting \"" + tc.key + "\" has the value " + quoteAll([]string{value}) + ": " + msg}}
				}
				if diff := cmp.Diff(want, Check(map[string]string{tc.key: value, "maxmemory-policy": "allkeys-lru"})); diff != "" {
					t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
				}
			}
		})
	}
}

func TestCheckLimit(t *testing.T) {
	cases := map[string]struct {
		reason, maxmemory, limit string
		want                     bool
	}{
		"Less":     {"Less than the limit is fine.", "1500mb", "2Gi", false},
		"Equal":    {"So is as much.", "2gb", "2Gi", false},
		"More":     {"More is killed before it evicts.", "3gb", "2Gi", true},
		"Huge":     {"Also where it overflows.", "99999999999999999999gb", "2Gi", true},
		"NoLimit":  {"Without a limit there is nothing to exceed.", "3gb", "", false},
		"BadValue": {"A value that cannot be read is another problem.", "3Gi", "2Gi", false},
		"BadLimit": {"So is such a limit.", "3gb", "2GiB", false},
		"Unset":    {"No maxmemory is no promise.", "", "2Gi", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := map[string]string{"maxmemory": tc.maxmemory}
			if tc.maxmemory == "" {
				s = nil
			}
			got := CheckLimit(s, tc.limit)
			if (len(got) == 1 && got[0].Warning) != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

// FuzzCheck looks for values that crash the checks, and for amounts that are let
// through although a server's own reader would not take them.
func FuzzCheck(f *testing.F) {
	for _, v := range []string{"", "0", "1gb", "2Gi", "-1", "50%", "1e9", "99999999999999999999999gb", " 1gb", "1 gb", "0x10", "+5"} {
		f.Add("maxmemory", v, "1Gi")
		f.Add("maxclients", v, v)
		f.Add("availability-zone", v, "")
	}
	// A server takes no digits for none.
	amount := regexp.MustCompile(`^[0-9]*([bB]|[kKmMgG][bB]?)?$`)
	f.Fuzz(func(t *testing.T, key, value, limit string) {
		problems := Check(map[string]string{key: value})
		CheckLimit(map[string]string{key: value}, limit)
		if key == "maxmemory" && len(problems) == 0 && !amount.MatchString(value) {
			t.Errorf("maxmemory %q is let through", value)
		}
		for _, p := range problems {
			if p.Key != key || p.Value != value || p.Message == "" {
				t.Errorf("got %+v", p)
			}
		}
	})
}
