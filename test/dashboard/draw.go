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

package dashboard

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// A Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// A Series is a line of a chart.
type Series struct {
	Name   string
	Points []Point
}

// A Chart is a panel with the series that its queries gave.
type Chart struct {
	Title  string
	Unit   string
	Series []Series
}

// A Mark is something that happened.
type Mark struct {
	At   time.Time
	What string
}

// Sizes of a picture in pixels.
const (
	columns     = 3
	chartWidth  = 500
	chartHeight = 270
	plotLeft    = 58
	plotRight   = 12
	plotTop     = 26
	plotHeight  = 150
	legendRow   = 13
	legendMost  = 5
	headHeight  = 34
)

var colours = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22"}

// A picture is an SVG in the making.
type picture struct {
	out      strings.Builder
	from, to time.Time
	marks    []Mark
}

// Draw returns an SVG with all charts over the same time. Marks are numbered lines,
// and explained below.
func Draw(title string, from, to time.Time, charts []Chart, marks []Mark) string {
	p := &picture{from: from, to: to, marks: marks}
	rows := (len(charts) + columns - 1) / columns
	markRows := (len(marks) + columns - 1) / columns
	height := headHeight + rows*chartHeight + markRows*16 + 16
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="DejaVu Sans, sans-serif" font-size="10">`, columns*chartWidth, height)
	p.add(`<rect width="100%%" height="100%%" fill="white"/>`)
	p.text(12, 22, "start", "#222", 15, title)
	for i, c := range charts {
		p.chart(c, float64(i%columns*chartWidth), float64(headHeight+i/columns*chartHeight))
	}
	for i, m := range marks {
		text := fmt.Sprintf("%d  at %s: %s", i+1, clock(m.At.Sub(from)), m.What)
		p.text(float64(i/markRows*chartWidth+12), float64(headHeight+rows*chartHeight+14+i%markRows*16), "start", "#b35900", 11, text)
	}
	p.add(`</svg>`)
	return p.out.String()
}

func (p *picture) add(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *picture) text(x, y float64, anchor, colour string, size int, s string) {
	p.add(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="%d">%s</text>`, x, y, anchor, colour, size, html.EscapeString(s))
}

// x returns where a time is, from the left of a chart.
func (p *picture) x(at time.Time) float64 {
	share := float64(at.Sub(p.from)) / float64(p.to.Sub(p.from))
	return plotLeft + (chartWidth-plotLeft-plotRight)*min(1, max(0, share))
}

func (p *picture) chart(c Chart, left, top float64) {
	p.add(`<g transform="translate(%.0f %.0f)">`, left, top)
	p.text(plotLeft, 14, "start", "#222", 12, c.Title)
	high := highest(c.Series)
	step := tick(high, c.Unit)
	high = math.Ceil(high/step) * step
	y := func(v float64) float64 { return plotTop + plotHeight*(1-min(1, max(0, v/high))) }
	for v := 0.0; v <= high+step/2; v += step {
		p.add(`<path d="M%d %.1fH%d" stroke="#e3e3e3"/>`, plotLeft, y(v), chartWidth-plotRight)
		p.text(plotLeft-5, y(v)+3, "end", "#555", 10, Format(v, step, c.Unit))
	}
	p.clock()
	for i, m := range p.marks {
		p.add(`<path d="M%.1f %dV%d" stroke="#ff9d3c" stroke-dasharray="2 3"/>`, p.x(m.At), plotTop, plotTop+plotHeight)
		p.text(p.x(m.At), plotTop-2, "middle", "#b35900", 9, fmt.Sprint(i+1))
	}
	lines := slices.Clone(c.Series)
	slices.SortStableFunc(lines, func(a, b Series) int { return cmp.Compare(highest([]Series{b}), highest([]Series{a})) })
	for i, s := range slices.Backward(lines) {
		p.add(`<path d="%s" fill="none" stroke="%s" stroke-width="1.4"/>`, p.path(s, y), colours[i%len(colours)])
	}
	p.legend(lines)
	p.add(`</g>`)
}

// path draws through the points, and leaves out where there were none.
func (p *picture) path(s Series, y func(float64) float64) string {
	var out strings.Builder
	gap := max(5*time.Second, p.to.Sub(p.from)/60)
	var last time.Time
	for _, pt := range s.Points {
		cmd := "L"
		if last.IsZero() || pt.At.Sub(last) > gap {
			cmd = "M"
		}
		fmt.Fprintf(&out, "%s%.1f %.1f", cmd, p.x(pt.At), y(pt.Value))
		last = pt.At
	}
	return out.String()
}

// clock draws about six marks along the axis of time.
func (p *picture) clock() {
	total := p.to.Sub(p.from)
	step := 10 * time.Second
	for _, s := range []time.Duration{20, 30, 60, 120, 300, 600} {
		if total/step > 7 {
			step = s * time.Second
		}
	}
	for d := time.Duration(0); d <= total; d += step {
		p.text(p.x(p.from.Add(d)), plotTop+plotHeight+13, "middle", "#555", 10, clock(d))
	}
}

func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

func (p *picture) legend(lines []Series) {
	top := float64(plotTop + plotHeight + 28)
	shown := lines
	if len(lines) > 2*legendMost {
		shown = lines[:2*legendMost-1]
	}
	place := func(i int) (float64, float64) {
		return plotLeft + float64(i/legendMost)*(chartWidth-plotLeft)/2, top + float64(i%legendMost)*legendRow
	}
	for i, s := range shown {
		x, y := place(i)
		p.add(`<path d="M%.1f %.1fh14" stroke="%s" stroke-width="2.5"/>`, x, y-3, colours[i%len(colours)])
		p.text(x+18, y, "start", "#333", 10, s.Name)
	}
	if n := len(lines) - len(shown); n > 0 {
		x, y := place(len(shown))
		p.text(x+18, y, "start", "#777", 10, fmt.Sprintf("and %d more", n))
	}
}

func highest(ss []Series) float64 {
	high := 0.0
	for _, s := range ss {
		for _, pt := range s.Points {
			high = max(high, pt.Value)
		}
	}
	if high == 0 {
		return 1
	}
	return high
}

// tick returns a round number of which about four fit. Bytes are round in powers of
// two.
func tick(high float64, unit string) float64 {
	if unit == "bytes" {
		return math.Pow(2, math.Ceil(math.Log2(high/5)))
	}
	return decimalTick(high)
}

func decimalTick(high float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(high/4)))
	for _, n := range []float64{1, 2, 2.5, 5} {
		if high/(n*unit) <= 5 {
			return n * unit
		}
	}
	return 10 * unit
}

// Format writes a value of an axis that has marks in steps.
func Format(v, step float64, unit string) string {
	switch {
	case unit == "bytes":
		return scaled(v, step, 1024, []string{" B", " KiB", " MiB", " GiB"})
	case unit == "s" && step < 0.1:
		return number(v*1000, step*1000) + " ms"
	case unit == "s":
		return number(v, step) + " s"
	case unit == "ops" || unit == "cps":
		return scaled(v, step, 1000, []string{"", "k", "M", "G"}) + "/s"
	case unit == "percentunit":
		return number(v*100, step*100) + "%"
	}
	return scaled(v, step, 1000, []string{"", "k", "M", "G"})
}

func scaled(v, step, base float64, suffixes []string) string {
	i := 0
	for v >= base && i < len(suffixes)-1 {
		v, step, i = v/base, step/base, i+1
	}
	return number(v, step) + suffixes[i]
}

// number writes a value with the decimals that its step has.
func number(v, step float64) string {
	decimals := 0
	for s := step; s < 0.999 && decimals < 3; s *= 10 {
		decimals++
	}
	if step >= 1 && step != math.Trunc(step) {
		decimals = 1
	}
	out := fmt.Sprintf("%.*f", decimals, v)
	if strings.Contains(out, ".") {
		out = strings.TrimRight(strings.TrimRight(out, "0"), ".")
	}
	return out
}
