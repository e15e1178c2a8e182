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

package witness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// slotCount is the number of slots of a cluster.
const slotCount = 16384

// A kind of key: how it is written, how it is read, and what the reading must give.
type kind struct {
	name  string
	write func(key, v string) [][]string
	read  func(key, v string) []string
	want  func(v string) string
}

func kinds() []kind {
	one := func(args ...string) [][]string { return [][]string{args} }
	return []kind{
		{
			"string", func(k, v string) [][]string { return one("SET", k, v) },
			func(k, _ string) []string { return []string{"GET", k} }, func(v string) string { return v },
		},
		{
			"expiring string", func(k, v string) [][]string { return one("SET", k, v, "EX", "86400") },
			func(k, _ string) []string { return []string{"GET", k} }, func(v string) string { return v },
		},
		{
			"hash", func(k, v string) [][]string { return one("HSET", k, "a", v, "b", "2") },
			func(k, _ string) []string { return []string{"HMGET", k, "a", "b", "c"} }, func(v string) string { return v + ",2,<nil>" },
		},
		{
			"list", func(k, v string) [][]string { return [][]string{{"DEL", k}, {"RPUSH", k, "first", v, "last"}} },
			func(k, _ string) []string { return []string{"LRANGE", k, "0", "-1"} }, func(v string) string { return "first," + v + ",last" },
		},
		{
			"set", func(k, v string) [][]string { return one("SADD", k, v, "x") },
			func(k, v string) []string { return []string{"SMISMEMBER", k, "x", "y", v} }, func(string) string { return "1,0,1" },
		},
		{
			"sorted set", func(k, v string) [][]string { return one("ZADD", k, "2", v, "1", "low") },
			func(k, _ string) []string { return []string{"ZRANGE", k, "0", "-1"} }, func(v string) string { return "low," + v },
		},
		{
			"stream", func(k, v string) [][]string { return [][]string{{"DEL", k}, {"XADD", k, "1-1", "f", v}} },
			func(k, _ string) []string { return []string{"XRANGE", k, "-", "+"} }, func(v string) string { return "1-1,f," + v },
		},
		{
			"hyperloglog", func(k, v string) [][]string { return one("PFADD", k, v) },
			func(k, _ string) []string { return []string{"PFCOUNT", k} }, func(string) string { return "1" },
		},
		{
			"bitmap", func(k, _ string) [][]string { return [][]string{{"SETBIT", k, "7", "1"}, {"SETBIT", k, "100", "1"}} },
			func(k, _ string) []string { return []string{"BITCOUNT", k} }, func(string) string { return "2" },
		},
		{
			"geo", func(k, v string) [][]string { return one("GEOADD", k, "13.361389", "38.115556", v) },
			func(k, v string) []string { return []string{"GEOHASH", k, v, "nobody"} }, func(string) string { return "sqc8b49rny0,<nil>" },
		},
		{
			"large string", func(k, v string) [][]string { return one("SET", k, large(v)) },
			func(k, _ string) []string { return []string{"GET", k} }, large,
		},
	}
}

func large(v string) string { return strings.Repeat(v+"/", 4096/(len(v)+1)) }

// A Dataset is a number of keys of every data type, spread evenly over all slots. What they hold follows from their
// number.
type Dataset struct {
	client valkey.Client
	prefix string
	keys   int
	tags   []string
	kinds  []kind
}

// NewDataset describes a data set. Fill writes it.
func NewDataset(c valkey.Client, prefix string, keys int) *Dataset {
	return &Dataset{client: c, prefix: prefix, keys: keys, tags: slotTags(), kinds: kinds()}
}

func (d *Dataset) key(i int) (string, string, kind) {
	return d.prefix + "{" + d.tags[i%slotCount] + "}" + strconv.Itoa(i), "value-" + strconv.Itoa(i), d.kinds[(i+i/slotCount)%len(d.kinds)]
}

const datasetBatch = 512

// Fill writes all keys.
func (d *Dataset) Fill(ctx context.Context) error {
	return d.batches(func(from, to int) error {
		var cmds []valkey.Completed
		for i := from; i < to; i++ {
			key, value, k := d.key(i)
			for _, args := range k.write(key, value) {
				cmds = append(cmds, d.client.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build())
			}
		}
		for _, res := range d.client.DoMulti(ctx, cmds...) {
			if err := res.Error(); err != nil {
				return fmt.Errorf("cannot fill the data set: %w", err)
			}
		}
		return nil
	})
}

// Verify reads all keys and tells how many are not as they were written.
func (d *Dataset) Verify(ctx context.Context) (bad int, err error) {
	var mu sync.Mutex
	var first string
	err = d.batches(func(from, to int) error {
		var cmds []valkey.Completed
		for i := from; i < to; i++ {
			key, value, k := d.key(i)
			args := k.read(key, value)
			cmds = append(cmds, d.client.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).ReadOnly())
		}
		for j, res := range d.client.DoMulti(ctx, cmds...) {
			m, err := res.ToMessage()
			if err != nil && !valkey.IsValkeyNil(err) {
				return fmt.Errorf("cannot read the data set: %w", err)
			}
			key, value, k := d.key(from + j)
			if have, want := flat(m), k.want(value); have != want {
				mu.Lock()
				bad++
				if first == "" {
					first = fmt.Sprintf("%s (%s) is %.80q, want %.80q", key, k.name, have, want)
				}
				mu.Unlock()
			}
		}
		return nil
	})
	if bad > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d keys are wrong, for example %s", bad, d.keys, first))
	}
	return bad, err
}

// batches runs a function on parts of the data set, a few at once.
func (d *Dataset) batches(do func(from, to int) error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	limit := make(chan struct{}, 4)
	for from := 0; from < d.keys; from += datasetBatch {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			err := do(from, min(d.keys, from+datasetBatch))
			for try := 0; err != nil && try < 2; try++ {
				time.Sleep(500 * time.Millisecond)
				err = do(from, min(d.keys, from+datasetBatch))
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	return failed
}

// flat writes a reply as its elements with commas in between.
func flat(m valkey.ValkeyMessage) string {
	switch {
	case m.IsNil():
		return "<nil>"
	case m.IsInt64():
		n, _ := m.ToInt64()
		return strconv.FormatInt(n, 10)
	case m.IsArray():
		ms, _ := m.ToArray()
		parts := make([]string, len(ms))
		for i := range ms {
			parts[i] = flat(ms[i])
		}
		return strings.Join(parts, ",")
	}
	s, err := m.ToString()
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return s
}

// slotTags returns a hash tag for each slot.
func slotTags() []string {
	out := make([]string, slotCount)
	for found, i := 0, 0; found < slotCount; i++ {
		tag := strconv.FormatInt(int64(i), 36)
		if s := Slot(tag); out[s] == "" {
			out[s] = tag
			found++
		}
	}
	return out
}

// TagOf returns a hash tag whose keys are in a slot.
func TagOf(slot int) string {
	for i := 0; ; i++ {
		if tag := strconv.FormatInt(int64(i), 36); Slot(tag) == slot {
			return tag
		}
	}
}

// Slot returns the slot of a key without hash tag: its CRC16 (XMODEM) modulo the number of slots.
func Slot(key string) int {
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}
