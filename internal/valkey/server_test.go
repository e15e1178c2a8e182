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
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	client "github.com/valkey-io/valkey-go"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

const patience = 20 * time.Second

// onEveryVersion runs a test on every supported version.
func onEveryVersion(t *testing.T, fn func(t *testing.T, version string)) {
	t.Helper()
	for _, v := range valkeyserver.Versions() {
		t.Run("Valkey"+strings.ReplaceAll(v, ".", ""), func(t *testing.T) { fn(t, v) })
	}
}

func hasMigrations(version string) bool { return strings.HasPrefix(version, "9") }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want checks that an error is of a class and says where it happened.
func want(t *testing.T, err error, class func(error) bool, addr string) {
	t.Helper()
	if !class(err) || !strings.Contains(err.Error(), addr) {
		t.Errorf("error of the wrong class, or without the address %s: %v", addr, err)
	}
}

func state(t *testing.T, s *valkeyserver.Server) *valkey.State {
	t.Helper()
	st, err := s.Node().State(context.Background())
	must(t, err)
	return st
}

// awaitState waits until a server's state is as wanted.
func awaitState(t *testing.T, s *valkeyserver.Server, what string, ok func(*valkey.State) bool) {
	t.Helper()
	valkeyserver.Await(t, patience, what, func() string {
		st, err := s.Node().State(context.Background())
		if err != nil {
			return err.Error()
		}
		if !ok(st) {
			return fmt.Sprintf("%+v", st)
		}
		return ""
	})
}

// data is a connection for the keys of a test: the provider itself reads and writes none.
type data struct{ client.Client }

func open(t *testing.T, s *valkeyserver.Server) data {
	t.Helper()
	c, err := client.NewClient(client.ClientOption{InitAddress: []string{s.Addr}, ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true})
	must(t, err)
	t.Cleanup(c.Close)
	return data{c}
}

func (d data) do(t *testing.T, args ...string) any {
	t.Helper()
	v, err := d.Do(context.Background(), d.B().Arbitrary(args...).Build()).ToAny()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}
