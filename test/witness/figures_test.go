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
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	for d := time.Duration(1); d < time.Hour; d = d*9/8 + 1 {
		i := bucket(d)
		if u := upper(i); u < d || float64(u) > float64(d)*1.07+1 {
			t.Errorf("%d is counted in bucket %d, which ends at %d", d, i, u)
		}
		if i > 0 && upper(i-1) >= d {
			t.Errorf("%d is counted in bucket %d, but also fits the one before", d, i)
		}
	}
	h := histogram{}
	for i := 1; i <= 1000; i++ {
		h.add(time.Duration(i) * time.Millisecond)
	}
	for p, want := range map[float64]time.Duration{0: 0, .5: 500 * time.Millisecond, .99: 990 * time.Millisecond, 1: time.Second} {
		got := h.percentile(p)
		if got < want || float64(got) > float64(want)*1.07+2e6 {
			t.Errorf("percentile %g of 1 ms to 1 s is %s, want about %s", p, got, want)
		}
	}
}

func TestGap(t *testing.T) {
	start := time.Unix(0, 0)
	g := gap{last: start}
	for _, ms := range []int{10, 20, 500, 490, 510} {
		g.note(start.Add(time.Duration(ms) * time.Millisecond))
	}
	if g.longest != 480*time.Millisecond || g.from != start.Add(20*time.Millisecond) {
		t.Errorf("the longest gap is %s from %s, want 480ms from 20ms", g.longest, g.from.Sub(start))
	}
}

func TestSlot(t *testing.T) {
	// From CLUSTER KEYSLOT.
	for key, want := range map[string]int{"": 0, "foo": 12182, "123456789": 12739} {
		if got := Slot(key); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
	for slot, tag := range slotTags() {
		if Slot(tag) != slot {
			t.Fatalf("tag %q is in slot %d, want %d", tag, Slot(tag), slot)
		}
	}
}

func TestKind(t *testing.T) {
	cases := map[string]error{
		"timeout": fmt.Errorf("do: %w", context.DeadlineExceeded),
		"refused": errors.New("dial tcp 10.0.0.1:6379: connect: connection refused"),
		"reset":   io.ErrUnexpectedEOF,
		"other":   errors.New("odd"),
	}
	for want, err := range cases {
		if got := Kind(err); got != want {
			t.Errorf("Kind(%v) = %q, want %q", err, got, want)
		}
	}
}

func TestPlot(t *testing.T) {
	r := &Report{Duration: 10 * time.Minute, Events: []Event{{At: time.Minute, What: "a <b> & c"}, {At: 9 * time.Minute, What: "late"}}}
	for i := range 6000 {
		r.bins = append(r.bins, bin{ops: int64(i % 7), errors: int64(i % 100 / 99), latency: time.Duration(i) * time.Millisecond})
	}
	svg := r.SVG("all & everything")
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(svg) > 200_000 {
		t.Errorf("the plot of a long run takes %d bytes", len(svg))
	}
	for _, e := range r.Events {
		if !strings.Contains(svg, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(e.What)) {
			t.Errorf("the plot does not show %q", e.What)
		}
	}
}
