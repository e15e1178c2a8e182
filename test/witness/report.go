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
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An Event is something that happened to the cluster.
type Event struct {
	At   time.Duration `json:"at"`
	What string        `json:"what"`
}

// An ErrorSample is one of the errors that were seen.
type ErrorSample struct {
	At   time.Duration `json:"at"`
	Kind string        `json:"kind"`
	Text string        `json:"text"`
}

// A SlowOperation is one of those that took longest, with errors or without.
type SlowOperation struct {
	At   time.Duration `json:"at"`
	Took time.Duration `json:"took"`
	What string        `json:"what"`
	Slot int           `json:"slot"`
}

// String tells it in one line.
func (s SlowOperation) String() string {
	return fmt.Sprintf("%s of slot %d at %s took %s", s.What, s.Slot, s.At.Round(time.Millisecond), s.Took.Round(time.Millisecond))
}

// A Report is what a witness saw. Durations are in nanoseconds in JSON.
type Report struct {
	Started  time.Time     `json:"started"`
	Duration time.Duration `json:"duration"`
	Rate     int           `json:"wantedRate"`
	Ops      int64         `json:"ops"`
	Reads    int64         `json:"reads"`
	Writes   int64         `json:"writes"`
	Acked    int64         `json:"acknowledgedWrites"`

	// LostWrites counts acknowledged writes that were gone in the end, on LostKeys keys. Unverified counts keys that
	// could not be read.
	LostWrites int64 `json:"lostWrites"`
	LostKeys   int64 `json:"lostKeys"`
	Checked    int64 `json:"checkedKeys"`
	Unverified int64 `json:"unverifiedKeys"`
	// StaleReads returned less than was acknowledged before. Of these Vanished found no key at all. Regressions
	// returned less than an earlier read.
	StaleReads  int64    `json:"staleReads"`
	Vanished    int64    `json:"vanishedReads"`
	Regressions int64    `json:"regressions"`
	LossSamples []string `json:"lossSamples,omitempty"`

	Errors       int64            `json:"errors"`
	ErrorsByKind map[string]int64 `json:"errorsByKind"`
	ErrorSamples []ErrorSample    `json:"errorSamples,omitempty"`

	// Stall is the longest time in which no worker had a write acknowledged, and WorkerStall that of one worker.
	Stall         time.Duration `json:"longestStall"`
	StallAt       time.Duration `json:"longestStallAt"`
	WorkerStall   time.Duration `json:"longestWorkerStall"`
	WorkerStallAt time.Duration `json:"longestWorkerStallAt"`
	P50           time.Duration `json:"p50"`
	P99           time.Duration `json:"p99"`
	P999          time.Duration `json:"p999"`
	Longest       time.Duration `json:"longestOperation"`

	// Slowest are the slowest operations, the slowest of all first, no more than a few of each worker.
	Slowest []SlowOperation `json:"slowestOperations,omitempty"`

	Events []Event `json:"events,omitempty"`

	bins []bin
}

func (w *Witness) report(v loss) *Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &Report{
		Started: w.start, Duration: w.ended.Sub(w.start), Rate: w.opts.Rate,
		LostWrites: v.writes, LostKeys: v.keys, Checked: v.checked, Unverified: v.failed, LossSamples: v.samples,
		ErrorsByKind: map[string]int64{}, Events: slices.Clone(w.events),
	}
	h := histogram{}
	for _, k := range w.workers {
		r.Reads += k.reads
		r.Writes += k.writes
		r.Acked += k.acked
		r.StaleReads += k.stale
		r.Vanished += k.vanished
		r.Regressions += k.regressed
		for kind, n := range k.errs {
			r.ErrorsByKind[kind] += n
			r.Errors += n
		}
		r.ErrorSamples = append(r.ErrorSamples, k.samples...)
		r.Slowest = append(r.Slowest, k.slowest...)
		h.merge(&k.hist)
		if k.gap.longest > r.WorkerStall {
			r.WorkerStall, r.WorkerStallAt = k.gap.longest, k.gap.from.Sub(w.start)
		}
		for len(r.bins) < len(k.bins) {
			r.bins = append(r.bins, bin{})
		}
		for i := range k.bins {
			r.bins[i].add(k.bins[i])
		}
	}
	w.gap.note(w.ended)
	r.Ops = r.Reads + r.Writes
	r.Stall, r.StallAt = w.gap.longest, w.gap.from.Sub(w.start)
	r.P50, r.P99, r.P999, r.Longest = h.percentile(.5), h.percentile(.99), h.percentile(.999), h.longest
	slices.SortFunc(r.Slowest, bySlowness)
	r.Slowest = r.Slowest[:min(len(r.Slowest), maxReported)]
	slices.SortFunc(r.ErrorSamples, func(a, b ErrorSample) int { return int(a.At - b.At) })
	r.ErrorSamples = r.ErrorSamples[:min(len(r.ErrorSamples), 4*maxSamples)]
	return r
}

// String tells the figures in one line.
func (r *Report) String() string {
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(r.ErrorsByKind)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, r.ErrorsByKind[k]))
	}
	by := ""
	if len(kinds) > 0 {
		by = " (" + strings.Join(kinds, ", ") + ")"
	}
	ms := func(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
	return fmt.Sprintf("%d ops in %s, %d acknowledged writes, lost %d, stale reads %d, regressions %d, unverified %d, errors %d%s, "+
		"longest stall %s at %s, of one worker %s at %s, p50 %s, p99 %s, p99.9 %s, longest %s",
		r.Ops, r.Duration.Round(time.Second/10), r.Acked, r.LostWrites, r.StaleReads, r.Regressions, r.Unverified, r.Errors, by,
		ms(r.Stall), r.StallAt.Round(time.Second/10), ms(r.WorkerStall), r.WorkerStallAt.Round(time.Second/10),
		ms(r.P50), ms(r.P99), ms(r.P999), ms(r.Longest))
}

// Clean says what a client may complain about, and "" if nothing.
func (r *Report) Clean() string {
	var out []string
	complain := func(n int64, what string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, what))
		}
	}
	complain(r.LostWrites, "lost writes")
	complain(r.StaleReads, "stale reads")
	complain(r.Regressions, "regressions")
	complain(r.Unverified, "keys that cannot be read")
	complain(r.Errors, "errors")
	if len(out) == 0 {
		return ""
	}
	lines := append([]string{strings.Join(out, ", ")}, r.LossSamples...)
	for _, e := range r.ErrorSamples {
		lines = append(lines, fmt.Sprintf("%s %s: %s", e.At.Round(time.Millisecond), e.Kind, e.Text))
	}
	return strings.Join(lines, "\n  ")
}

// Save writes name.json and name.svg into a directory.
func (r *Report) Save(dir, name string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	j, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".json"), append(j, '\n'), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".svg"), []byte(r.SVG(name)), 0o600)
}
