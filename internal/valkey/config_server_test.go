//go:build server

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

package valkey_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

func TestServerConfig(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		ctx := t.Context()
		n := valkeyserver.Start(t, version, valkeyserver.Options{}).Node()
		get := func(values map[string]string, names ...string) {
			t.Helper()
			got, err := n.ConfigGet(ctx, names...)
			must(t, err)
			if diff := cmp.Diff(values, got); diff != "" {
				t.Errorf("ConfigGet(%v): -want, +got:\n%s", names, diff)
			}
		}
		must(t, n.ConfigSet(ctx, nil))
		must(t, n.ConfigSet(ctx, map[string]string{"maxmemory": "1gb", "maxmemory-policy": "allkeys-lru", "save": "900 1 300 10"}))
		get(map[string]string{"maxmemory": "1073741824", "maxmemory-policy": "allkeys-lru", "save": "900 1 300 10"}, "maxmemory", "maxmemory-policy", "save", "no-such-setting")

		bad := map[string]func(error) bool{
			"cluster-enabled": valkey.IsImmutableConfig,
			"dbfilename":      valkey.IsProtectedConfig,
			"no-such-setting": valkey.IsUnknownConfig,
		}
		for name, class := range bad {
			want(t, n.ConfigSet(ctx, map[string]string{"maxmemory": "2gb", name: "yes"}), class, n.Addr())
			get(map[string]string{"maxmemory": "1073741824"}, "maxmemory")
		}
		if err := n.ConfigSet(ctx, map[string]string{"maxmemory": "2gb", "maxmemory-policy": "nonsense"}); err == nil {
			t.Error("ConfigSet(...) took a value without sense")
		}
		get(map[string]string{"maxmemory": "1073741824", "maxmemory-policy": "allkeys-lru"}, "maxmemory", "maxmemory-policy")
	})
}
