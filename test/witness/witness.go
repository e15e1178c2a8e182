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
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Options of a witness. Zero values stand for defaults.
type Options struct {
	// Addrs are the addresses at which the client starts to look for the cluster.
	Addrs []string
	// Username and Password of an ACL user that may read and write keys below Prefix.
	Username string
	Password string
	// TLS is how to connect, nil for plain text.
	TLS *tls.Config
	// Rate is the number of operations a second, 2000 by default. Half of them are writes.
	Rate int
	// Workers share the rate, 16 by default. Each waits for its own operations only.
	Workers int
	// Keys is the number of keys written to, 16,000 by default.
	Keys int
	// Prefix of all keys, "witness:" by default.
	Prefix string
	// Size of a value in bytes, 64 by default.
	Size int
	// Timeout of one operation, 10 s by default, with all that the client retries in that time.
	Timeout time.Duration
	// MaxDuration and MaxOps bound the run: one hour and 20 million operations by default.
	MaxDuration time.Duration
	MaxOps      int64
}

func (o Options) withDefaults() Options {
	o.Rate = cmp.Or(o.Rate, 2000)
	o.Workers = cmp.Or(o.Workers, 16)
	o.Keys = max(cmp.Or(o.Keys, 16000), o.Workers)
	o.Prefix = cmp.Or(o.Prefix, "witness:")
	o.Size = cmp.Or(o.Size, 64)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.MaxDuration = cmp.Or(o.MaxDuration, time.Hour)
	o.MaxOps = cmp.Or(o.MaxOps, 20_000_000)
	return o
}

// NewClient connects to a cluster as a witness does.
func NewClient(o Options) (valkey.Client, error) {
	c, err := valkey.NewClient(valkey.ClientOption{
		InitAddress: o.Addrs, Username: o.Username, Password: o.Password, TLSConfig: o.TLS,
		DisableCache: true, Dialer: net.Dialer{Timeout: 2 * time.Second},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", strings.Join(o.Addrs, ", "), err)
	}
	return c, nil
}

// A Witness is a client at work.
type Witness struct {
	opts    Options
	client  valkey.Client
	start   time.Time
	stop    context.CancelFunc
	done    chan struct{}
	workers []*worker

	mu     sync.Mutex
	events []Event
	gap    gap
	ops    int64
	ended  time.Time
}

// Start connects and begins to write and read.
func Start(o Options) (*Witness, error) {
	o = o.withDefaults()
	c, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.MaxDuration)
	w := &Witness{opts: o, client: c, start: time.Now(), stop: cancel, done: make(chan struct{})}
	w.gap.last = w.start
	var wg sync.WaitGroup
	for i := range o.Workers {
		n := o.Keys / o.Workers
		if i < o.Keys%o.Workers {
			n++
		}
		wk := &worker{
			w: w, id: i, keys: make([]key, n),
			rng: rand.New(rand.NewPCG(uint64(i), uint64(w.start.UnixNano()))),
			pad: strings.Repeat("x", o.Size), errs: map[string]int64{},
		}
		wk.gap.last = w.start
		w.workers = append(w.workers, wk)
		wg.Go(func() { wk.run(ctx) })
	}
	go func() {
		wg.Wait()
		w.mu.Lock()
		w.ended = time.Now()
		w.mu.Unlock()
		close(w.done)
	}()
	return w, nil
}

// Mark notes that something happens to the cluster now.
func (w *Witness) Mark(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, Event{At: time.Since(w.start), What: fmt.Sprintf(format, args...)})
}

// Done is closed when the witness has ended, by a bound or by Stop.
func (w *Witness) Done() <-chan struct{} { return w.done }

// Stop ends the work, checks what is left of every acknowledged write and reports. It must be called once.
func (w *Witness) Stop() *Report {
	w.stop()
	<-w.done
	defer w.client.Close()
	v := w.verify()
	return w.report(v)
}

// begin tells whether one more operation may start.
func (w *Witness) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops++
	return w.ops <= w.opts.MaxOps
}

func (w *Witness) acknowledged(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gap.note(at)
}

// A gap keeps the longest time between two moments.
type gap struct {
	last    time.Time
	longest time.Duration
	from    time.Time
}

func (g *gap) note(at time.Time) {
	if d := at.Sub(g.last); d > g.longest {
		g.longest, g.from = d, g.last
	}
	if at.After(g.last) {
		g.last = at
	}
}

// A key is what a worker knows of one of its keys. Nobody else writes it.
type key struct {
	// gen is part of the name. A key is given up after a write of unknown outcome: that write may still arrive at any
	// time and would look like a loss.
	gen int
	// acked is the number of acknowledged writes, each of which wrote its own number.
	acked int64
	// unsure is the number of the write that failed, 0 for none.
	unsure int64
	// seen is the greatest number read.
	seen int64
}

// maxAbandoned bounds the keys that a worker gives up.
const maxAbandoned = 1 << 16

type worker struct {
	w    *Witness
	id   int
	keys []key
	rng  *rand.Rand
	pad  string

	abandoned []abandoned
	stale     int64
	regressed int64
	vanished  int64
	reads     int64
	writes    int64
	acked     int64
	errs      map[string]int64
	samples   []ErrorSample
	slowest   []SlowOperation
	hist      histogram
	bins      []bin
	gap       gap
}

type abandoned struct {
	name string
	key
}

func (k *worker) name(i int) string {
	return k.w.opts.Prefix + strconv.Itoa(k.id) + ":" + strconv.Itoa(i) + ":" + strconv.Itoa(k.keys[i].gen)
}

// run does operations at the worker's share of the rate. What it could not do in time it does not make up for: a
// client that was stalled has not more to write afterwards.
func (k *worker) run(ctx context.Context) {
	interval := time.Duration(k.w.opts.Workers) * time.Second / time.Duration(k.w.opts.Rate)
	next := time.Now().Add(time.Duration(k.rng.Int64N(int64(interval) + 1)))
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	k.gap.last = time.Now()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			// A stall at the end counts too.
			k.gap.note(time.Now())
			return
		case <-timer.C:
		}
		if len(k.abandoned) >= maxAbandoned || !k.w.begin() {
			return
		}
		i := k.rng.IntN(len(k.keys))
		if n%2 == 0 || k.keys[i].acked == 0 {
			k.write(i)
		} else {
			k.read(i)
		}
		next = next.Add(interval)
		if now := time.Now(); next.Before(now) {
			next = now
		}
		timer.Reset(time.Until(next))
	}
}

// do runs one operation. A run that ends lets operations finish: what is cut off would be of unknown outcome.
func (k *worker) do(cmd valkey.Completed) (valkey.ValkeyResult, error) {
	what, name := cmd.Commands()[0], cmd.Commands()[1]
	ctx, cancel := context.WithTimeout(context.Background(), k.w.opts.Timeout)
	defer cancel()
	begin := time.Now()
	res := k.w.client.Do(ctx, cmd)
	err := res.Error()
	if valkey.IsValkeyNil(err) {
		err = nil
	}
	now := time.Now()
	took := now.Sub(begin)
	b := k.bin(now)
	b.ops++
	b.latency = max(b.latency, took)
	k.slow(took, begin, what, name)
	if err != nil {
		b.errors++
		k.fail(err, begin)
	} else {
		k.hist.add(took)
	}
	return res, err
}

func (k *worker) write(i int) {
	kk := &k.keys[i]
	n := kk.acked + 1
	k.writes++
	value := strconv.FormatInt(n, 10) + " " + k.pad
	_, err := k.do(k.w.client.B().Set().Key(k.name(i)).Value(value).Build())
	if err != nil {
		kk.unsure = n
		k.abandoned = append(k.abandoned, abandoned{name: k.name(i), key: *kk})
		*kk = key{gen: kk.gen + 1}
		return
	}
	kk.acked = n
	k.acked++
	now := time.Now()
	k.gap.note(now)
	k.w.acknowledged(now)
}

func (k *worker) read(i int) {
	kk := &k.keys[i]
	k.reads++
	res, err := k.do(k.w.client.B().Get().Key(k.name(i)).Build())
	if err != nil {
		return
	}
	n := number(res)
	if n < kk.acked {
		k.stale++
		if n == 0 {
			k.vanished++
		}
	}
	if n < kk.seen {
		k.regressed++
	}
	kk.seen = max(kk.seen, n)
}

// number reads the number of the write that a key holds, 0 if there is none.
func number(res valkey.ValkeyResult) int64 {
	s, err := res.ToString()
	if err != nil {
		return 0
	}
	head, _, _ := strings.Cut(s, " ")
	n, _ := strconv.ParseInt(head, 10, 64)
	return n
}

const maxSamples = 8

// maxSlow is how many slow operations a worker remembers, and maxReported how many of
// all workers are reported.
const maxSlow, maxReported = 3, 12

// bySlowness orders operations, the slowest one first.
func bySlowness(a, b SlowOperation) int { return cmp.Compare(b.Took, a.Took) }

// slow remembers an operation if it is one of the slowest.
func (k *worker) slow(took time.Duration, begin time.Time, what, name string) {
	if len(k.slowest) == maxSlow && took <= k.slowest[maxSlow-1].Took {
		return
	}
	k.slowest = append(k.slowest, SlowOperation{At: begin.Sub(k.w.start), Took: took, What: what, Slot: Slot(name)})
	slices.SortFunc(k.slowest, bySlowness)
	k.slowest = k.slowest[:min(len(k.slowest), maxSlow)]
}

func (k *worker) fail(err error, at time.Time) {
	kind := Kind(err)
	k.errs[kind]++
	if len(k.samples) < maxSamples {
		k.samples = append(k.samples, ErrorSample{At: at.Sub(k.w.start), Kind: kind, Text: err.Error()})
	}
}

// Kind sorts an error by what a person would call it.
func Kind(err error) string {
	s := err.Error()
	if _, ok := valkey.IsValkeyErr(err); ok {
		head, _, _ := strings.Cut(s, " ")
		return head
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(s, "i/o timeout"):
		return "timeout"
	case strings.Contains(s, "connection refused"):
		return "refused"
	case strings.Contains(s, "connection reset"), strings.Contains(s, "broken pipe"), strings.Contains(s, "EOF"):
		return "reset"
	case strings.Contains(s, "no route to host"), strings.Contains(s, "network is unreachable"):
		return "unreachable"
	case errors.Is(err, valkey.ErrNoSlot):
		return "no node for the slot"
	case strings.Contains(s, "no such host"), strings.Contains(s, "lookup "):
		return "name resolution"
	}
	return "other"
}

// A loss is what verify found.
type loss struct {
	checked int64
	keys    int64
	writes  int64
	failed  int64
	samples []string
}

// verify reads every key that was ever written.
func (w *Witness) verify() loss {
	type expectation struct {
		name string
		min  int64
	}
	var all []expectation
	for _, k := range w.workers {
		for i := range k.keys {
			if n := k.keys[i].acked; n > 0 {
				all = append(all, expectation{k.name(i), n})
			}
		}
		for _, a := range k.abandoned {
			if a.acked > 0 {
				all = append(all, expectation{a.name, a.acked})
			}
		}
	}
	out := loss{}
	for len(all) > 0 {
		part := all[:min(500, len(all))]
		all = all[len(part):]
		names := make([]string, len(part))
		for i := range part {
			names[i] = part[i].name
		}
		for i, n := range w.fetch(names) {
			out.checked++
			switch {
			case n < 0:
				out.failed++
			case n < part[i].min:
				out.keys++
				out.writes += part[i].min - n
				if len(out.samples) < maxSamples {
					out.samples = append(out.samples, fmt.Sprintf("%s: holds write %d, but write %d was acknowledged", part[i].name, n, part[i].min))
				}
			}
		}
	}
	return out
}

// fetch reads the numbers that keys hold, -1 for a key that could not be read.
func (w *Witness) fetch(names []string) []int64 {
	out := make([]int64, len(names))
	for i := range out {
		out[i] = -1
	}
	for try := range 5 {
		var cmds []valkey.Completed
		var at []int
		for i, n := range names {
			if out[i] < 0 {
				cmds, at = append(cmds, w.client.B().Get().Key(n).Build()), append(at, i)
			}
		}
		if len(cmds) == 0 {
			break
		}
		if try > 0 {
			time.Sleep(time.Second)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*w.opts.Timeout)
		for j, res := range w.client.DoMulti(ctx, cmds...) {
			if err := res.Error(); err == nil || valkey.IsValkeyNil(err) {
				out[at[j]] = number(res)
			}
		}
		cancel()
	}
	return out
}
