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

// Command copykeys copies all keys of one Valkey cluster into another one, with
// their times to live. Both stay in use meanwhile, but what is written to the
// source while it runs may be missed. See docs/migration.md.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/valkey-io/valkey-go"
)

// batch is how many keys are asked for at once.
const batch = 200

func main() {
	from := flag.String("from", "", "URL of the source: valkey://USER@HOST:6379, or valkeys:// with TLS; the password is in FROM_PASSWORD")
	to := flag.String("to", "", "URL of the target; the password is in TO_PASSWORD")
	ca := flag.String("ca", "", "file with the authorities of both, for valkeys://")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *from, *to, *ca); err != nil {
		fmt.Fprintln(os.Stderr, "copykeys:", err)
		cancel()
		os.Exit(1) //nolint:gocritic // All that was deferred has been done.
	}
}

func run(ctx context.Context, from, to, ca string) error {
	src, err := connect(from, os.Getenv("FROM_PASSWORD"), ca)
	if err != nil {
		return fmt.Errorf("cannot connect to the source: %w", err)
	}
	defer src.Close()
	dst, err := connect(to, os.Getenv("TO_PASSWORD"), ca)
	if err != nil {
		return fmt.Errorf("cannot connect to the target: %w", err)
	}
	defer dst.Close()
	n, err := Copy(ctx, src, dst)
	if err != nil {
		return fmt.Errorf("after %d keys: %w", n, err)
	}
	fmt.Printf("copied %d keys\n", n)
	return nil
}

func connect(url, password, ca string) (valkey.Client, error) {
	o, err := valkey.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.DisableCache = true
	if password != "" {
		o.Password = password
	}
	if ca != "" && o.TLSConfig != nil {
		pem, err := os.ReadFile(ca) //nolint:gosec // Whoever runs this names the file.
		if err != nil {
			return nil, err
		}
		o.TLSConfig.RootCAs = x509.NewCertPool()
		if !o.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", ca)
		}
	}
	return valkey.NewClient(o)
}

// Copy copies the keys of all primaries and returns how many there were. A key
// that the target has already is replaced.
func Copy(ctx context.Context, src, dst valkey.Client) (int, error) {
	total := 0
	nodes := src.Nodes()
	for _, addr := range slices.Sorted(maps.Keys(nodes)) {
		primary, err := isPrimary(ctx, nodes[addr])
		if err != nil {
			return total, fmt.Errorf("%s: %w", addr, err)
		}
		if !primary {
			continue
		}
		n, err := copyNode(ctx, nodes[addr], dst)
		total += n
		if err != nil {
			return total, fmt.Errorf("%s: %w", addr, err)
		}
	}
	return total, nil
}

func isPrimary(ctx context.Context, c valkey.Client) (bool, error) {
	info, err := c.Do(ctx, c.B().Info().Section("replication").Build()).ToString()
	return strings.Contains(info, "role:master"), err
}

func copyNode(ctx context.Context, c, dst valkey.Client) (int, error) {
	total := 0
	for cursor := uint64(0); ; {
		page, err := c.Do(ctx, c.B().Scan().Cursor(cursor).Count(batch).Build()).AsScanEntry()
		if err != nil {
			return total, fmt.Errorf("cannot list keys: %w", err)
		}
		n, err := copyKeys(ctx, c, dst, page.Elements)
		total += n
		if err != nil || page.Cursor == 0 {
			return total, err
		}
		cursor = page.Cursor
	}
}

// copyKeys copies some keys. The time of expiry is asked for first: a key that
// has expired by then has no value any more.
func copyKeys(ctx context.Context, c, dst valkey.Client, keys []string) (int, error) {
	ask := make(valkey.Commands, 0, 2*len(keys))
	for _, k := range keys {
		ask = append(ask, c.B().Pexpiretime().Key(k).Build(), c.B().Dump().Key(k).Build())
	}
	var restore valkey.Commands
	answers := c.DoMulti(ctx, ask...)
	for i, k := range keys {
		expires, err := answers[2*i].AsInt64()
		value, err2 := answers[2*i+1].ToString()
		if valkey.IsValkeyNil(err2) {
			continue
		}
		if err := errors.Join(err, err2); err != nil {
			return 0, fmt.Errorf("cannot read %q: %w", k, err)
		}
		restore = append(restore, dst.B().Arbitrary("RESTORE").Keys(k).
			Args(strconv.FormatInt(max(0, expires), 10), value, "REPLACE", "ABSTTL").Build())
	}
	for i, r := range dst.DoMulti(ctx, restore...) {
		if err := r.Error(); err != nil {
			return i, fmt.Errorf("cannot write %q: %w", restore[i].Commands()[1], err)
		}
	}
	return len(restore), nil
}
