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

package valkeyserver

import (
	"testing"
	"time"
)

// Await waits until cond returns the empty string, for at most timeout. Otherwise the test fails and says what cond
// missed last.
func Await(t testing.TB, timeout time.Duration, what string, cond func() (missing string)) {
	t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := cond()
		if missing == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("waited %s for %s: %s", timeout, what, missing)
		case <-tick.C:
		}
	}
}
