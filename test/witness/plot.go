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
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// Sizes of the plot in pixels.
const (
	plotWidth  = 1100
	plotLeft   = 60
	plotRight  = 20
	plotPanel  = 180
	plotTop    = 30
	plotGap    = 30
	plotLabels = 190
	plotBins   = plotWidth - plotLeft - plotRight
)

// Latencies are drawn on a logarithmic scale between these.
const (
	plotFloor   = 100 * time.Microsecond
	plotCeiling = 10 * time.Second
)

// SVG draws operations a second and the longest latency over time, with the events of the run.
func (r *Report) SVG(title string) string {
	p := &plot{total: max(r.Duration, binWidth)}
	p.bins, p.width = squeeze(r.bins)
	height := plotTop + 2*plotPanel + plotGap + plotLabels
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`, plotWidth, height)
	p.add(`<rect width="100%%" height="100%%" fill="white"/>`)
	p.add(`<text x="%d" y="18" font-size="14">%s</text>`, plotLeft, html.EscapeString(title))
	p.ops(plotTop)
	p.latency(plotTop + plotPanel + plotGap)
	p.time(plotTop + 2*plotPanel + plotGap)
	p.events(r.Events, plotTop, plotTop+2*plotPanel+plotGap)
	p.add(`</svg>`)
	return p.out.String()
}

type plot struct {
	out   strings.Builder
	total time.Duration
	bins  []bin
	width time.Duration
}

func (p *plot) add(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *plot) x(at time.Duration) float64 {
	return plotLeft + float64(plotBins)*min(1, float64(at)/float64(p.total))
}

// squeeze joins bins until there are not more than the plot is wide.
func squeeze(bins []bin) ([]bin, time.Duration) {
	n := (len(bins) + plotBins - 1) / plotBins
	if n <= 1 {
		return bins, binWidth
	}
	out := make([]bin, (len(bins)+n-1)/n)
	for i := range bins {
		out[i/n].add(bins[i])
	}
	return out, time.Duration(n) * binWidth
}

func (p *plot) ops(top int) {
	high := 1.0
	for _, b := range p.bins {
		high = max(high, float64(b.ops)/p.width.Seconds())
	}
	p.frame(top, "operations/s")
	p.add(`<text x="%d" y="%d" text-anchor="end">%.0f</text>`, plotLeft-4, top+10, high)
	var path, errs strings.Builder
	for i, b := range p.bins {
		x := p.x(time.Duration(i) * p.width)
		cmd := "L"
		if i == 0 {
			cmd = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", cmd, x, float64(top)+plotPanel*(1-float64(b.ops)/p.width.Seconds()/high))
		if b.errors > 0 {
			fmt.Fprintf(&errs, "M%.1f %dv-8", x, top+plotPanel)
		}
	}
	p.add(`<path d="%s" fill="none" stroke="#1f77b4"/>`, path.String())
	p.add(`<path d="%s" stroke="#d62728" stroke-width="2"/>`, errs.String())
}

func (p *plot) latency(top int) {
	p.frame(top, "longest latency")
	y := func(d time.Duration) float64 {
		d = min(max(d, plotFloor), plotCeiling)
		return float64(top) + plotPanel*(1-math.Log(float64(d)/float64(plotFloor))/math.Log(float64(plotCeiling)/float64(plotFloor)))
	}
	for d := 10 * plotFloor; d <= plotCeiling; d *= 10 {
		p.add(`<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft, y(d), plotWidth-plotRight, plotLeft-4, y(d)+4, d)
	}
	var path strings.Builder
	for i, b := range p.bins {
		if b.ops > 0 {
			fmt.Fprintf(&path, "M%.1f %dV%.1f", p.x(time.Duration(i)*p.width), top+plotPanel, y(b.latency))
		}
	}
	p.add(`<path d="%s" stroke="#2ca02c"/>`, path.String())
}

func (p *plot) frame(top int, what string) {
	p.add(`<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`, plotLeft, top, plotBins, plotPanel)
	p.add(`<text x="%d" y="%d" fill="#555">%s</text>`, plotLeft+4, top-4, what)
}

// time draws about ten marks along the axis of time.
func (p *plot) time(y int) {
	step := time.Second
	for _, s := range []time.Duration{2, 5, 10, 30, 60, 120, 300, 600, 1800} {
		if p.total/step > 12 {
			step = s * time.Second
		}
	}
	for at := time.Duration(0); at <= p.total; at += step {
		p.add(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, p.x(at), y+13, at)
	}
}

func (p *plot) events(es []Event, top, bottom int) {
	for i, e := range es {
		x := p.x(e.At)
		y := bottom + 28 + 13*(i%12)
		anchor, dx := "start", 3.0
		if x > plotWidth*2/3 {
			anchor, dx = "end", -3.0
		}
		p.add(`<path d="M%.1f %dV%d" stroke="#ff7f0e" stroke-dasharray="3 2"/>`, x, top, y)
		p.add(`<text x="%.1f" y="%d" text-anchor="%s" fill="#b35900">%s</text>`, x+dx, y, anchor, html.EscapeString(e.What))
	}
}
