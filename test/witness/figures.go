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

package witness

import (
	"math/bits"
	"time"
)

// binWidth is the resolution of the plot.
const binWidth = 100 * time.Millisecond

// A bin counts what ended within a tenth of a second.
type bin struct {
	ops     int64
	errors  int64
	latency time.Duration
}

func (k *worker) bin(now time.Time) *bin {
	i := int(max(0, now.Sub(k.w.start)) / binWidth)
	for len(k.bins) <= i {
		k.bins = append(k.bins, bin{})
	}
	return &k.bins[i]
}

func (b *bin) add(o bin) {
	b.ops += o.ops
	b.errors += o.errors
	b.latency = max(b.latency, o.latency)
}

// steps is the number of buckets for each doubling of a duration.
const steps = 16

// A histogram counts durations in buckets that are 6 % wide.
type histogram struct {
	buckets [64 * steps]int64
	count   int64
	longest time.Duration
}

func (h *histogram) add(d time.Duration) {
	h.buckets[bucket(d)]++
	h.count++
	h.longest = max(h.longest, d)
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
	h.count += o.count
	h.longest = max(h.longest, o.longest)
}

func bucket(d time.Duration) int {
	n := uint64(max(0, d))
	e := bits.Len64(n)
	if e <= 5 {
		return int(n)
	}
	return (e-5)*steps + int(n>>(e-5))
}

// upper returns the longest duration of a bucket.
func upper(i int) time.Duration {
	if i < 2*steps {
		return time.Duration(i)
	}
	e := i/steps - 1
	return time.Duration((uint64(i-e*steps)+1)<<e - 1)
}

// percentile returns the duration that the share p of all does not exceed.
func (h *histogram) percentile(p float64) time.Duration {
	rank := int64(p * float64(h.count))
	for i, n := range h.buckets {
		if rank -= n; rank < 0 {
			return min(upper(i), h.longest)
		}
	}
	return h.longest
}
