//go:build scale

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

package scale

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A sample is what the provider's process was like at a time.
type sample struct {
	at  time.Time
	cpu time.Duration
	rss float64
}

// usage is what a process took over a time.
type usage struct {
	// cores is how much of the cores, on average.
	cores float64
	// median and top are of its memory in MiB.
	median, top float64
}

// sampling is how often the memory is looked at.
const sampling = 2 * time.Second

// over samples the provider for a time or until its context ends.
func (p *provider) over(ctx context.Context, d time.Duration) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	var all []sample
	for {
		cpu, err1 := p.cpu()
		rss, err2 := p.rss()
		if err1 != nil || err2 != nil {
			return usage{}, fmt.Errorf("the provider cannot be measured: %w, %w", err1, err2)
		}
		all = append(all, sample{at: time.Now(), cpu: cpu, rss: rss})
		select {
		case <-ctx.Done():
			return summary(all), nil
		case <-tick.C:
		}
	}
}

func summary(all []sample) usage {
	first, last := all[0], all[len(all)-1]
	mem := make([]float64, 0, len(all))
	for _, s := range all {
		mem = append(mem, s.rss)
	}
	slices.Sort(mem)
	out := usage{median: mem[len(mem)/2], top: mem[len(mem)-1]}
	if d := last.at.Sub(first.at); d > 0 {
		out.cores = float64(last.cpu-first.cpu) / float64(d)
	}
	return out
}

// await waits until nothing is missing, and tells every now and then what is.
func await(t *testing.T, patience time.Duration, what string, try func(context.Context) (missing string, err error)) {
	t.Helper()
	begin := time.Now()
	told := begin
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		missing, err := try(ctx)
		if missing == "" && err == nil {
			return
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Printf("%5.0f s, %s: %s\n", time.Since(begin).Seconds(), what, cmpOr(missing, err))
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s until %s: %s", patience, what, cmpOr(missing, err))
		case <-tick.C:
		}
	}
}

func cmpOr(missing string, err error) string {
	if err != nil {
		return err.Error()
	}
	return missing
}
