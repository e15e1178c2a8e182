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

package topology

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// syncPatience is how long a member may run without having begun to sync
	// before that is called a problem.
	syncPatience = time.Minute
	// refusedPatience is the same where it is known that it cannot sync.
	refusedPatience = 5 * time.Second
)

// reportStalls names newcomers that do not sync, for which a change waits.
func (w *world) reportStalls() {
	for _, s := range w.shards {
		p := s.primary
		if p == nil || !p.holds() {
			continue
		}
		for _, m := range s.live() {
			if m == p || !m.keep || m.Phase != PhaseJoining || m.Process.PrimaryID != p.ID || m.Process.LinkUp {
				continue
			}
			if why := whyNoSync(m, p); why != "" {
				w.plan.Problems = append(w.plan.Problems, why)
			}
		}
	}
}

func whyNoSync(m, p *member) string {
	switch {
	case older(m.Process.Version, p.Process.Version) && m.PodAge > refusedPatience:
		return fmt.Sprintf("member %s (Valkey %s) has not synced with %s (Valkey %s): an older server may not read what a newer one writes; go back to the newer image%s",
			m.Name, m.Process.Version, p.Name, p.Process.Version, words(m))
	case m.PodAge > syncPatience && !m.Process.Syncing:
		return fmt.Sprintf("member %s has not synced with %s; nothing is replaced before it has%s", m.Name, p.Name, words(m))
	}
	return ""
}

func words(m *member) string {
	if m.LastWords == "" {
		return ""
	}
	return "; its log says: " + m.LastWords
}

// older tells whether a version is of an earlier minor version than another.
func older(a, b string) bool {
	x, y := minor(a), minor(b)
	return x[0] < y[0] || x[0] == y[0] && x[1] < y[1]
}

func minor(version string) [2]int {
	var out [2]int
	for i, f := range strings.SplitN(version, ".", 3) {
		if i < len(out) {
			out[i], _ = strconv.Atoi(f)
		}
	}
	return out
}
