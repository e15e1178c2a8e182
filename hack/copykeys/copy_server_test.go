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

package main

import (
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// TestServerCopy copies from the oldest to the newest version, and finds every
// value where it belongs: in another number of shards, of each kind, with its
// time to live.
func TestServerCopy(t *testing.T) {
	versions := valkeyserver.Versions()
	src := client(t, valkeyserver.StartCluster(t, versions[0], 2, 1, valkeyserver.Options{}))
	dst := client(t, valkeyserver.StartCluster(t, versions[len(versions)-1], 3, 0, valkeyserver.Options{}))
	const keys = 1000
	for i := range keys {
		do(t, src, "SET", fmt.Sprintf("key:%d", i), strconv.Itoa(i))
	}
	expires := time.Now().Add(time.Hour).UnixMilli()
	do(t, src, "SET", "expires", "later", "PXAT", strconv.FormatInt(expires, 10))
	do(t, src, "RPUSH", "list", "a", "b")
	do(t, src, "HSET", "hash", "field", "value")
	do(t, src, "SET", "binary", "\x00\r\n\xff")
	do(t, dst, "SET", "key:0", "older")

	n, err := Copy(t.Context(), src, dst)
	if err != nil || n != keys+4 {
		t.Fatalf("copied %d keys (%v), want %d", n, err, keys+4)
	}
	for i := range keys {
		want(t, dst, strconv.Itoa(i), "GET", fmt.Sprintf("key:%d", i))
	}
	want(t, dst, strconv.FormatInt(expires, 10), "PEXPIRETIME", "expires")
	want(t, dst, "-1", "PEXPIRETIME", "key:1")
	want(t, dst, "b", "LINDEX", "list", "1")
	want(t, dst, "value", "HGET", "hash", "field")
	want(t, dst, "\x00\r\n\xff", "GET", "binary")
}

func client(t *testing.T, c *valkeyserver.Cluster) valkey.Client {
	t.Helper()
	out, err := connect("valkey://"+net.JoinHostPort(c.Primaries[0].IP, strconv.Itoa(valkeyserver.Port)), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	return out
}

func do(t *testing.T, c valkey.Client, args ...string) valkey.ValkeyMessage {
	t.Helper()
	m, err := c.Do(t.Context(), c.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).ToMessage()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return m
}

func want(t *testing.T, c valkey.Client, value string, args ...string) {
	t.Helper()
	m := do(t, c, args...)
	got, err := m.ToString()
	if n, e := m.AsInt64(); err != nil && e == nil {
		got, err = strconv.FormatInt(n, 10), nil
	}
	if err != nil || got != value {
		t.Errorf("%q: got %q (%v), want %q", args, got, err, value)
	}
}
