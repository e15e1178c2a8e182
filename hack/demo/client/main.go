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

// Command client uses a Valkey cluster as an application would: it knows one
// name, learns the rest from the cluster, writes keys and reads them back.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/valkey-io/valkey-go"
)

func main() {
	address := flag.String("address", "hello.demo.svc.cluster.local:6379", "address of any member of the cluster")
	keys := flag.Int("keys", 300, "number of keys to write and read")
	flag.Parse()
	if err := run(*address, *keys); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(address string, keys int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:  []string{address},
		DisableCache: true,
		// With this the client knows the replicas too, and asks none of them.
		SendToReplicas: func(valkey.Completed) bool { return false },
	})
	if err != nil {
		return fmt.Errorf("cannot connect to %s: %w", address, err)
	}
	defer c.Close()
	if err := write(ctx, c, keys); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	if err := read(ctx, c, keys); err != nil {
		return fmt.Errorf("cannot read: %w", err)
	}
	fmt.Printf("wrote %d keys through %s and read them back\n", keys, address)
	return show(ctx, c)
}

func key(i int) string   { return fmt.Sprintf("greeting:%d", i) }
func value(i int) string { return fmt.Sprintf("hello %d", i) }

func write(ctx context.Context, c valkey.Client, keys int) error {
	cmds := make(valkey.Commands, keys)
	for i := range cmds {
		cmds[i] = c.B().Set().Key(key(i)).Value(value(i)).Build()
	}
	for _, r := range c.DoMulti(ctx, cmds...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func read(ctx context.Context, c valkey.Client, keys int) error {
	cmds := make(valkey.Commands, keys)
	for i := range cmds {
		cmds[i] = c.B().Get().Key(key(i)).Build()
	}
	for i, r := range c.DoMulti(ctx, cmds...) {
		got, err := r.ToString()
		if err != nil {
			return err
		}
		if want := value(i); got != want {
			return fmt.Errorf("%s: got %q, want %q", key(i), got, want)
		}
	}
	return nil
}

// show prints what each member holds.
func show(ctx context.Context, c valkey.Client) error {
	nodes := c.Nodes()
	for _, address := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[address]
		role, err := n.Do(ctx, n.B().Role().Build()).ToArray()
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		name, err := role[0].ToString()
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		size, err := n.Do(ctx, n.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		fmt.Printf("  %-22s %-8s %4d keys\n", address, map[string]string{"master": "primary", "slave": "replica"}[name], size)
	}
	return nil
}
