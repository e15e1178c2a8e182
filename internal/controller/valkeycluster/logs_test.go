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

import "testing"

func TestLastWords(t *testing.T) {
	cases := map[string]struct {
		reason string
		log    string
		want   string
	}{
		"Empty": {reason: "Nothing was said."},
		"Repeated": {
			reason: "A server that tries again repeats itself.",
			log: "1:S 30 Nov 2026 12:15:18.994 * Connecting to PRIMARY 10.0.0.1:6379\n" +
				"1:S 30 Nov 2026 12:15:18.995 # Can't handle RDB format version 80\n" +
				"1:S 30 Nov 2026 12:15:18.996 # Failed trying to load the PRIMARY synchronization DB, check server logs.\n" +
				"1:S 30 Nov 2026 12:15:19.995 # Can't handle RDB format version 80\n" +
				"1:S 30 Nov 2026 12:15:20.001 * Connecting to PRIMARY 10.0.0.1:6379\n",
			want: "Failed trying to load the PRIMARY synchronization DB, check server logs. / Can't handle RDB format version 80",
		},
		"NoWarning": {
			reason: "The last line is better than nothing.",
			log:    "1:S 30 Nov 2026 12:15:18.994 * PRIMARY <-> REPLICA sync started\nnot of the server\n",
			want:   "PRIMARY <-> REPLICA sync started",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := lastWords(tc.log); got != tc.want {
				t.Errorf("%s\nlastWords(...): got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
