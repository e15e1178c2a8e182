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

package valkey

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// ConfigGet returns the values of settings as the server writes them, for example 1073741824 for what was set as 1gb. The
// names may be patterns. A setting that this version does not know is absent.
func (n *Node) ConfigGet(ctx context.Context, names ...string) (map[string]string, error) {
	c := command(append([]string{"CONFIG", "GET"}, names...)...)
	m, err := n.one(ctx, c)
	if err != nil {
		return nil, err
	}
	out, err := m.AsStrMap()
	return out, n.wrap(c, err)
}

// ConfigSet changes settings, all or none. See IsImmutableConfig, IsProtectedConfig and IsUnknownConfig. The settings are
// not written to the server's configuration file.
func (n *Node) ConfigSet(ctx context.Context, settings map[string]string) error {
	if len(settings) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(settings))
	c := call{args: []string{"CONFIG", "SET"}, what: "CONFIG SET " + strings.Join(names, " ")}
	for _, name := range names {
		c.args = append(c.args, name, settings[name])
		if strings.HasSuffix(name, "auth") || strings.HasSuffix(name, "pass") {
			c.secrets = append(c.secrets, settings[name])
		}
	}
	return n.ok(ctx, c)
}
