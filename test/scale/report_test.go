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
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
)

// A figure is one thing that was measured.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Bound is what the value must not be above, nil for none.
	Bound *float64 `json:"bound,omitempty"`
}

func (f figure) holds() bool { return f.Bound == nil || f.Value <= *f.Bound }

// A report is all that was measured.
type report struct {
	Clusters int      `json:"clusters"`
	Members  int      `json:"members"`
	Figures  []figure `json:"figures"`
}

// tell adds a figure.
func (r *report) tell(name string, value float64, unit string) {
	r.Figures = append(r.Figures, figure{Name: name, Value: value, Unit: unit})
	fmt.Printf("%s: %.4g %s\n", name, value, unit)
}

// bound adds a figure that fails the test if it is above a bound.
func (r *report) bound(t *testing.T, name string, value float64, unit string, most float64) {
	t.Helper()
	f := figure{Name: name, Value: value, Unit: unit, Bound: &most}
	r.Figures = append(r.Figures, f)
	fmt.Printf("%s: %.4g %s, at most %.4g\n", name, value, unit, most)
	if !f.holds() {
		t.Errorf("%s: %.4g %s, want at most %.4g", name, value, unit, most)
	}
}

// table returns the report for a person.
func (r *report) table() string {
	b := &strings.Builder{}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%d clusters, %d members\tmeasured\t\tat most\t\n", r.Clusters, r.Members)
	for _, f := range r.Figures {
		most, verdict := "", ""
		if f.Bound != nil {
			most, verdict = fmt.Sprintf("%.4g", *f.Bound), "ok"
		}
		if !f.holds() {
			verdict = "TOO MUCH"
		}
		_, _ = fmt.Fprintf(w, "%s\t%.4g\t%s\t%s\t%s\n", f.Name, f.Value, f.Unit, most, verdict)
	}
	_ = w.Flush()
	return b.String()
}

// write prints the table and writes the report to a file, if one is named.
func (r *report) write(path string) error {
	fmt.Print("\n", r.table(), "\n")
	if path == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}
