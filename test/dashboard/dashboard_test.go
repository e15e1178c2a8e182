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
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.json")
	text := `{"panels": [{"title": "Keys", "type": "timeseries", "fieldConfig": {"defaults": {"unit": "short"}},
		"targets": [{"expr": "keys{cluster=~\"$cluster\"}", "legendFormat": "{{cluster}} {{ role }}"}]}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Expr: `keys{cluster=~"$cluster"}`, Legend: "{{cluster}} {{ role }}"}
	if diff := cmp.Diff([]Panel{{Title: "Keys", Type: "timeseries", Unit: "short", Targets: []Target{target}}}, got); diff != "" {
		t.Errorf("Read(...): -want, +got:\n%s", diff)
	}
	if got, want := target.Query(map[string]string{"cluster": "a.*"}), `keys{cluster=~"a.*"}`; got != want {
		t.Errorf("Query(...) is %s, want %s", got, want)
	}
	if got, want := target.Name(map[string]string{"cluster": "a", "role": "primary"}), "a primary"; got != want {
		t.Errorf("Name(...) is %s, want %s", got, want)
	}
}

func TestFormat(t *testing.T) {
	cases := map[string]struct {
		reason  string
		v, step float64
		unit    string
		want    string
	}{
		"Whole":     {"A number is what it is.", 4, 2, "short", "4"},
		"Half":      {"It has the decimals of its step.", 0.5, 0.25, "short", "0.5"},
		"Thousands": {"Big ones are short.", 12000, 4000, "short", "12k"},
		"Between":   {"But not the same as the next one.", 1500, 500, "short", "1.5k"},
		"Bytes":     {"Bytes are counted in powers of two.", 3 << 20, 1 << 20, "bytes", "3 MiB"},
		"Millis":    {"Short times are in milliseconds.", 0.02, 0.01, "s", "20 ms"},
		"Seconds":   {"Long ones are not.", 2, 1, "s", "2 s"},
		"Rate":      {"A rate is for each second.", 2000, 500, "ops", "2k/s"},
		"Share":     {"A share is of a hundred.", 0.5, 0.25, "percentunit", "50%"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Format(tc.v, tc.step, tc.unit); got != tc.want {
				t.Errorf("%s\nFormat(...) is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestTick(t *testing.T) {
	cases := map[string]struct {
		reason string
		high   float64
		unit   string
		want   float64
	}{
		"Few":      {"Small counts are counted in ones.", 5, "short", 1},
		"Tens":     {"Marks are round.", 23, "short", 5},
		"Share":    {"Also below one.", 1, "percentunit", 0.2},
		"Mebibyte": {"Bytes are round in powers of two.", 2.2 * 1024 * 1024, "bytes", 512 * 1024},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tick(tc.high, tc.unit); got != tc.want {
				t.Errorf("%s\ntick(%v, %s) is %v, want %v", tc.reason, tc.high, tc.unit, got, tc.want)
			}
		})
	}
}

// A picture has a line for every series and names what happened, whatever the names.
func TestDraw(t *testing.T) {
	from := time.Unix(0, 0)
	points := []Point{{from, 1}, {from.Add(time.Second), 2}, {from.Add(50 * time.Second), 3}}
	charts := []Chart{
		{Title: "A & B", Unit: "bytes", Series: []Series{{"<one>", points}, {"two", points}}},
		{Title: "Nothing yet", Series: nil},
		{Title: "Zero", Series: []Series{{"zero", []Point{{from, 0}}}}},
	}
	svg := Draw("Title", from, from.Add(time.Minute), charts, []Mark{{from.Add(10 * time.Second), "roll"}})
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v\n%s", err, svg)
		}
	}
	for _, want := range []string{"A &amp; B", "&lt;one&gt;", "1  at 0:10: roll", "Nothing yet"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not have %q", want)
		}
	}
	if got := strings.Count(svg, `fill="none"`); got != 3 {
		t.Errorf("the picture has %d lines, want 3", got)
	}
	// Where nothing was measured for long there is no line.
	if got := strings.Count(svg, "M58.0 "); got == 0 || strings.Contains(svg, "NaN") {
		t.Errorf("bad path in\n%s", svg)
	}
}
