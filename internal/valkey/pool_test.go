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
	"crypto/tls"
	"crypto/x509"
	"runtime"
	"sync"
	"testing"
	"time"
)

func testPool(t *testing.T, o PoolOptions) *Pool {
	t.Helper()
	p := NewPool(o)
	t.Cleanup(p.Close)
	return p
}

func wantConnections(t *testing.T, f *fakeServer, open, dials int) {
	t.Helper()
	if o, d := f.connections(); o != open || d != dials {
		t.Errorf("want %d open connections of %d, got %d of %d", open, dials, o, d)
	}
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline:
			t.Fatalf("waited too long for %s", what)
		case <-tick.C:
		}
	}
}

func TestPoolReuses(t *testing.T) {
	f := newFake(t, pong)
	p := testPool(t, PoolOptions{})
	for range 3 {
		if err := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil).Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantConnections(t, f, 1, 1)
}

func TestPoolSeparatesUsers(t *testing.T) {
	f := newFake(t, func(args []string) string {
		if args[0] == "AUTH" {
			return "+OK\r\n"
		}
		return pong(args)
	})
	p := testPool(t, PoolOptions{})
	for _, c := range []Credentials{{}, {"a", "x"}, {"a", "y"}, {"b", "x"}} {
		for range 2 {
			if err := p.Node(Endpoint{Addr: f.addr}, c, nil).Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantConnections(t, f, 4, 4)
}

// Many commands at once take many connections, of which MaxIdle are kept.
func TestPoolKeepsMaxIdle(t *testing.T) {
	const n = 8
	var arrived sync.WaitGroup
	arrived.Add(n)
	f := newFake(t, func(args []string) string {
		arrived.Done()
		arrived.Wait()
		return pong(args)
	})
	p := testPool(t, PoolOptions{MaxIdle: 3})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil).Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	await(t, "the surplus to close", func() bool { open, _ := f.connections(); return open == 3 })
	wantConnections(t, f, 3, n)
}

// A connection that the server closed while it was idle must not fail the next command.
func TestPoolSkipsDeadConnections(t *testing.T) {
	f := newFake(t, pong)
	p := testPool(t, PoolOptions{})
	n := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil)
	for i := range 3 {
		if err := n.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.closeAll()
		await(t, "the end to arrive", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return !p.idle[n.key][0].alive()
		})
		if _, dials := f.connections(); dials != i+1 {
			t.Fatalf("want %d dials, got %d", i+1, dials)
		}
	}
}

func TestPoolRunClosesIdle(t *testing.T) {
	f := newFake(t, pong)
	p := testPool(t, PoolOptions{IdleTimeout: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	n := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil)
	if err := n.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	await(t, "the idle connection to close", func() bool { open, _ := f.connections(); return open == 0 })
	p.mu.Lock()
	if len(p.idle) != 0 {
		t.Errorf("the pool still has %d keys", len(p.idle))
	}
	p.mu.Unlock()
	if err := n.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run(...): %v", err)
	}
	await(t, "the pool to close", func() bool { open, _ := f.connections(); return open == 0 })
}

func TestPoolUseAfterClose(t *testing.T) {
	f := newFake(t, pong)
	p := testPool(t, PoolOptions{})
	p.Close()
	if err := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the connection to close", func() bool { open, _ := f.connections(); return open == 0 })
}

func TestDeadlines(t *testing.T) {
	quiet := func([]string) string { return silence }
	cases := map[string]struct {
		reason  string
		options PoolOptions
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		timeout bool
	}{
		"OwnDeadline": {
			reason:  "A command ends after the command timeout, whatever the caller's context says.",
			options: PoolOptions{CommandTimeout: 50 * time.Millisecond},
			ctx:     context.WithCancel,
			timeout: true,
		},
		"CallersDeadline": {
			reason:  "The caller's deadline counts where it is earlier.",
			options: PoolOptions{CommandTimeout: time.Hour},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 50*time.Millisecond)
			},
			timeout: true,
		},
		"Cancelled": {
			reason:  "A command ends as soon as the caller gives up, and that says nothing about the server.",
			options: PoolOptions{CommandTimeout: time.Hour},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(50*time.Millisecond, cancel)
				return ctx, cancel
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, quiet)
			p := testPool(t, tc.options)
			ctx, cancel := tc.ctx(t.Context())
			defer cancel()
			start := time.Now()
			err := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil).Ping(ctx)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s\nPing took %s", tc.reason, took)
			}
			if err == nil || IsTimeout(err) != tc.timeout || IsUnreachable(err) != tc.timeout {
				t.Errorf("%s\nPing(...): %v", tc.reason, err)
			}
			// A late reply must not be taken for that of the next command.
			await(t, "the connection to close", func() bool { open, _ := f.connections(); return open == 0 })
		})
	}
}

// A server that accepts and never answers the greeting costs the dial timeout.
func TestDialTimeout(t *testing.T) {
	f := newFake(t, func([]string) string { return silence })
	p := testPool(t, PoolOptions{DialTimeout: 50 * time.Millisecond})
	n := p.Node(Endpoint{Addr: f.addr}, Credentials{Username: "u", Password: "x"}, nil)
	start := time.Now()
	err := n.Ping(t.Context())
	if !IsTimeout(err) || !IsNotSent(err) || time.Since(start) > 5*time.Second {
		t.Errorf("Ping(...) after %s: %v", time.Since(start), err)
	}
}

func TestNoGoroutines(t *testing.T) {
	f := newFake(t, pong)
	before := runtime.NumGoroutine()
	p := NewPool(PoolOptions{})
	for range 10 {
		if err := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil).Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The server's side of the connection is one.
	if got := runtime.NumGoroutine(); got > before+1 {
		t.Errorf("an idle pool has %d goroutines", got-before-1)
	}
	p.Close()
	await(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestWatch(t *testing.T) {
	f := newFake(t, pong)
	p := testPool(t, PoolOptions{CommandTimeout: 50 * time.Millisecond})
	n := p.Node(Endpoint{Addr: f.addr}, Credentials{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	byServer, err := n.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// It outlives the deadline of the dial.
	select {
	case <-byServer:
		t.Fatal("the watch ended by itself")
	case <-time.After(100 * time.Millisecond):
	}
	f.closeAll()
	if inOrder, told := <-byServer; !inOrder || !told {
		t.Errorf("the server ended the connection: got %t, %t", inOrder, told)
	}
	broken, err := n.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f.resetAll()
	if inOrder, told := <-broken; inOrder || !told {
		t.Errorf("the connection was reset: got %t, %t", inOrder, told)
	}
	byCaller, err := n.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, told := <-byCaller; told {
		t.Error("the caller was told of its own end")
	}
	await(t, "the connections to close", func() bool { open, _ := f.connections(); return open == 0 })
}

func TestSameTLS(t *testing.T) {
	pool := func(raw string) *x509.CertPool {
		p := x509.NewCertPool()
		p.AddCert(&x509.Certificate{Raw: []byte(raw), RawSubject: []byte("same")})
		return p
	}
	certificate := func(raw string) []tls.Certificate {
		return []tls.Certificate{{Certificate: [][]byte{[]byte(raw)}}}
	}
	base := func() *tls.Config {
		return &tls.Config{ServerName: "a", RootCAs: pool("ca"), Certificates: certificate("leaf"), MinVersion: tls.VersionTLS12}
	}
	with := func(change func(*tls.Config)) *tls.Config {
		c := base()
		change(c)
		return c
	}
	cases := map[string]struct {
		reason string
		a, b   *tls.Config
		want   bool
	}{
		"NoTLS":       {reason: "Two plain connections are alike.", want: true},
		"OneTLS":      {reason: "A plain one never serves for an encrypted one.", b: base()},
		"Equal":       {reason: "Settings are compared by content.", a: base(), b: base(), want: true},
		"Name":        {reason: "The verified name counts.", a: base(), b: with(func(c *tls.Config) { c.ServerName = "b" })},
		"Authority":   {reason: "The authorities count, not only their names.", a: base(), b: with(func(c *tls.Config) { c.RootCAs = pool("other") })},
		"NoAuthority": {reason: "The system's authorities are others.", a: base(), b: with(func(c *tls.Config) { c.RootCAs = nil })},
		"Certificate": {reason: "Our certificate counts.", a: base(), b: with(func(c *tls.Config) { c.Certificates = certificate("new") })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameTLS(tc.a, tc.b); got != tc.want {
				t.Errorf("%s\nsameTLS(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
