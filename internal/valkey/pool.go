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
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"slices"
	"sync"
	"time"
)

// PoolOptions are the limits of a Pool. Zero values mean the defaults.
type PoolOptions struct {
	// DialTimeout bounds connecting, TLS and authentication together. The default is 2 s.
	DialTimeout time.Duration
	// CommandTimeout bounds every command, unless the command itself waits on the server. The default is 3 s.
	CommandTimeout time.Duration
	// MaxIdle is the number of idle connections kept for one server and user. The default is 2.
	MaxIdle int
	// IdleTimeout is how long an idle connection is kept. The default is 5 minutes.
	IdleTimeout time.Duration
	// Stats has State ask for what a server counts, too.
	Stats bool
}

// A Pool holds connections to servers. A connection serves one command (or one pipeline) at a time, so a slow command
// never delays another one. It is safe for concurrent use.
type Pool struct {
	o PoolOptions
	// state are the commands of State.
	state [][]string

	mu     sync.Mutex
	idle   map[poolKey][]*conn
	closed bool
}

// A poolKey says which connections may serve which Node. TLS settings are compared per connection.
type poolKey struct {
	addr     string
	username string
	password [sha256.Size]byte
}

// NewPool returns an empty pool. It closes idle connections only while Run runs.
func NewPool(o PoolOptions) *Pool {
	o.DialTimeout = cmp.Or(o.DialTimeout, 2*time.Second)
	o.CommandTimeout = cmp.Or(o.CommandTimeout, 3*time.Second)
	o.MaxIdle = cmp.Or(o.MaxIdle, 2)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 5*time.Minute)
	return &Pool{o: o, state: stateCommands(o.Stats), idle: map[poolKey][]*conn{}}
}

// Run closes connections that have been idle for IdleTimeout, until ctx is done. Then it closes the pool. It returns nil.
func (p *Pool) Run(ctx context.Context) error {
	t := time.NewTicker(max(p.o.IdleTimeout/4, time.Millisecond))
	defer t.Stop()
	defer p.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-t.C:
			p.closeIdle(now.Add(-p.o.IdleTimeout))
		}
	}
}

// Close closes all idle connections now and every other one after its command. Commands can still be sent afterwards; their
// connections are not kept.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = map[poolKey][]*conn{}
	p.mu.Unlock()
	for _, cs := range idle {
		closeAll(cs)
	}
}

// Node returns a handle on the server at e. It does not connect. With an empty e.ServerName the connection is not
// encrypted and config is ignored; otherwise the server's certificate must be valid for that name. Connections are
// shared between handles with the same address, credentials and TLS settings (certificates, authorities and
// verification; callbacks of config are not compared).
func (p *Pool) Node(e Endpoint, c Credentials, config *tls.Config) *Node {
	n := &Node{pool: p, endpoint: e, credentials: c, key: poolKey{addr: e.Addr, username: c.Username, password: sha256.Sum256([]byte(c.Password))}}
	if e.ServerName == "" {
		return n
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	n.tls = config.Clone()
	n.tls.ServerName = e.ServerName
	return n
}

// get returns an idle connection that is still alive, or a new one.
func (p *Pool) get(ctx context.Context, n *Node) (*conn, error) {
	for c := p.take(n); c != nil; c = p.take(n) {
		if c.alive() {
			return c, nil
		}
		c.close()
	}
	return dial(ctx, n, p.o.DialTimeout)
}

// take removes the connection that was used last from the idle ones.
func (p *Pool) take(n *Node) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	cs := p.idle[n.key]
	for i, c := range slices.Backward(cs) {
		if sameTLS(c.tls, n.tls) {
			p.setIdle(n.key, slices.Delete(cs, i, i+1))
			return c
		}
	}
	return nil
}

// put takes a healthy connection back.
func (p *Pool) put(k poolKey, c *conn) {
	c.idleSince = time.Now()
	p.mu.Lock()
	var surplus []*conn
	cs := p.idle[k]
	cs = append(cs, c)
	switch over := len(cs) - p.o.MaxIdle; {
	case p.closed:
		surplus = []*conn{c}
	case over > 0:
		surplus = slices.Clone(cs[:over])
		p.setIdle(k, slices.Delete(cs, 0, over))
	default:
		p.setIdle(k, cs)
	}
	p.mu.Unlock()
	closeAll(surplus)
}

func (p *Pool) closeIdle(before time.Time) {
	var old []*conn
	p.mu.Lock()
	for k, cs := range p.idle {
		// A connection whose server is gone is dropped as well: a pod's address is not used for long.
		p.setIdle(k, slices.DeleteFunc(cs, func(c *conn) bool {
			expired := c.idleSince.Before(before) || !c.alive()
			if expired {
				old = append(old, c)
			}
			return expired
		}))
	}
	p.mu.Unlock()
	closeAll(old)
}

// setIdle forgets the keys that have no connection, so that the map does not grow with every pod there ever was.
func (p *Pool) setIdle(k poolKey, cs []*conn) {
	if len(cs) == 0 {
		delete(p.idle, k)
		return
	}
	p.idle[k] = cs
}

func closeAll(cs []*conn) {
	for _, c := range cs {
		c.close()
	}
}

// sameTLS reports whether a connection made with a may be used where b is asked for.
func sameTLS(a, b *tls.Config) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ServerName == b.ServerName &&
		a.InsecureSkipVerify == b.InsecureSkipVerify &&
		a.MinVersion == b.MinVersion &&
		(a.RootCAs == b.RootCAs || a.RootCAs != nil && b.RootCAs != nil && a.RootCAs.Equal(b.RootCAs)) &&
		slices.EqualFunc(a.Certificates, b.Certificates, sameCertificate)
}

func sameCertificate(a, b tls.Certificate) bool {
	return slices.EqualFunc(a.Certificate, b.Certificate, slices.Equal[[]byte])
}
