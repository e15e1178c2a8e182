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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A memory holds what makes passes cheaper or calmer. Nothing depends on it: a
// provider that starts without it comes to the same decisions.
type memory struct {
	mu       sync.Mutex
	clusters map[types.UID]*recollection
}

type recollection struct {
	next   time.Duration
	told   map[string]time.Time
	orders map[string]time.Time
	given  map[string]string
	said   map[string]saying
	writes map[string]saying
	keys   ring
	pulse  pulse
}

// A pulse is how a roll was when it last made progress, and when it was last felt.
type pulse struct {
	at, felt time.Time
	what     string
}

// pulseGap is a time without passes after which a roll had no chance to make
// progress, as when its cluster was paused.
const pulseGap = time.Minute

// A saying is what a log said at a time, or what was written.
type saying struct {
	at   time.Time
	text string
}

func newMemory() *memory { return &memory{clusters: map[types.UID]*recollection{}} }

func (m *memory) of(o client.Object) *recollection {
	r := m.clusters[o.GetUID()]
	if r == nil {
		r = &recollection{told: map[string]time.Time{}, orders: map[string]time.Time{}, given: map[string]string{}, said: map[string]saying{}, writes: map[string]saying{}}
		m.clusters[o.GetUID()] = r
	}
	return r
}

// pace remembers when to look again at a cluster.
func (m *memory) pace(o client.Object, next time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(o).next = next
}

// next returns when to look again at a cluster, 0 for the poll interval.
func (m *memory) next(o client.Object) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(o).next
}

// toldFor is how long a message is not repeated.
const toldFor = 10 * time.Minute

// once tells whether a message was not sent lately.
func (m *memory) once(o client.Object, msg string) bool {
	return m.after(o, func(r *recollection) map[string]time.Time { return r.told }, msg, toldFor)
}

// cool tells whether an order was not given within a time. A failover needs a
// moment until its result can be seen.
func (m *memory) cool(o client.Object, order string, d time.Duration) bool {
	return m.after(o, func(r *recollection) map[string]time.Time { return r.orders }, order, d)
}

// cooling tells whether an order was given within a time.
func (m *memory) cooling(o client.Object, order string, d time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.of(o).orders[order]
	return ok && time.Since(t) < d
}

func (m *memory) after(o client.Object, of func(*recollection) map[string]time.Time, key string, d time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := of(m.of(o))
	now := time.Now()
	for k, t := range seen {
		if now.Sub(t) > toldFor {
			delete(seen, k)
		}
	}
	if t, ok := seen[key]; ok && now.Sub(t) < d {
		return false
	}
	seen[key] = now
	return true
}

// applied returns what a process was last given.
func (m *memory) applied(o client.Object, process string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(o).given[process]
}

// apply remembers what a process was given: users or a certificate.
func (m *memory) apply(o client.Object, process, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(o).given[process] = what
}

// words returns what a process said within the last minute, or asks.
func (m *memory) words(o client.Object, process string, ask func() string) string {
	m.mu.Lock()
	s, ok := m.of(o).said[process]
	m.mu.Unlock()
	if ok && time.Since(s.at) < wordsFor {
		return s.text
	}
	s = saying{at: time.Now(), text: ask()}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of(o)
	for k, old := range r.said {
		if s.at.Sub(old.at) > toldFor {
			delete(r.said, k)
		}
	}
	r.said[process] = s
	return s.text
}

// idle returns for how long a roll has been the same. An empty one begins anew.
func (m *memory) idle(o client.Object, what string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of(o)
	if what == "" || what != r.pulse.what || now.Sub(r.pulse.felt) > pulseGap {
		r.pulse = pulse{at: now, what: what}
	}
	r.pulse.felt = now
	return now.Sub(r.pulse.at)
}

// writtenFor is how long what was written may take to reach the cache: 15 s were
// measured with an API server that has more to do than it can.
const writtenFor = 30 * time.Second

// written tells whether something was the last thing to be written in a place,
// and so lately that the cache may not show it yet.
func (m *memory) written(o client.Object, where, what string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.of(o).writes[where]
	return ok && w.text == what && time.Since(w.at) < writtenFor
}

// wrote remembers what was written in a place.
func (m *memory) wrote(o client.Object, where, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.of(o), time.Now()
	for k, old := range r.writes {
		if now.Sub(old.at) >= writtenFor {
			delete(r.writes, k)
		}
	}
	r.writes[where] = saying{at: now, text: what}
}

// keep remembers the passwords of a cluster.
func (m *memory) keep(o client.Object, r ring) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(o).keys = r
}

// ring returns the passwords of a cluster, if they are remembered.
func (m *memory) ring(o client.Object) ring {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(o).keys
}

// forget drops all that is remembered of a cluster.
func (m *memory) forget(o client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, o.GetUID())
}
