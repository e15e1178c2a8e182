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

// Package dashboard reads the Grafana dashboard of this project and draws its panels
// without Grafana, from the answers of a Prometheus.
package dashboard

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A Panel is a panel of a dashboard.
type Panel struct {
	Title string
	// Type is row, stat or timeseries.
	Type string
	// Unit of the values as Grafana names it.
	Unit    string
	Targets []Target
}

// A Target is one query of a panel.
type Target struct {
	// Expr is the query, with variables such as $namespace.
	Expr string `json:"expr"`
	// Legend names each of its series, with labels such as {{cluster}}.
	Legend string `json:"legendFormat"`
}

// Read returns the panels of a dashboard in their order.
func Read(path string) ([]Panel, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d struct {
		Panels []struct {
			Title, Type string
			Targets     []Target
			FieldConfig struct {
				Defaults struct{ Unit string }
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	var out []Panel
	for _, p := range d.Panels {
		out = append(out, Panel{Title: p.Title, Type: p.Type, Unit: p.FieldConfig.Defaults.Unit, Targets: p.Targets})
	}
	return out, nil
}

// Query returns the query with variables replaced by their values.
func (t Target) Query(variables map[string]string) string {
	return variable.ReplaceAllStringFunc(t.Expr, func(name string) string {
		if v, ok := variables[name[1:]]; ok {
			return v
		}
		return name
	})
}

// Name returns the name of a series with some labels.
func (t Target) Name(labels map[string]string) string {
	return label.ReplaceAllStringFunc(t.Legend, func(name string) string {
		return labels[strings.Trim(name, "{} ")]
	})
}

var (
	variable = regexp.MustCompile(`\$[a-z]+`)
	label    = regexp.MustCompile(`{{ *[a-z_]+ *}}`)
)
