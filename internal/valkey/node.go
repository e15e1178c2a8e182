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
	"fmt"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// An Endpoint is where a server listens.
type Endpoint struct {
	// Addr is the address as "ip:port", an IPv6 address in brackets.
	Addr string
	// ServerName is the name that the server's certificate must be valid for. Empty means no TLS.
	ServerName string
}

// Credentials are a user's name and password. An empty name means the default user; both empty means no authentication.
type Credentials struct {
	Username, Password string
}

// String returns the name only, so that a password does not reach a log by accident.
func (c Credentials) String() string { return c.Username }

// GoString returns the name only, as String does.
func (c Credentials) GoString() string { return c.Username }

// A Node is a handle on one server, made by Pool.Node. It has no state and is safe for concurrent use.
type Node struct {
	pool        *Pool
	endpoint    Endpoint
	credentials Credentials
	tls         *tls.Config
	key         poolKey
	// expect is the id that the server must have, empty for any.
	expect string
}

// Addr returns the address of the server.
func (n *Node) Addr() string { return n.endpoint.Addr }

// A call is one command with what is needed to report and bound it.
type call struct {
	args []string
	// what describes the command in errors. Empty means the args, which must not hold a secret then.
	what string
	// secrets are removed from the server's error texts.
	secrets []string
	// wait is how long the server itself may take on purpose; the command's deadline is that much later.
	wait time.Duration
}

func command(args ...string) call { return call{args: args} }

func (c call) String() string {
	if c.what != "" {
		return c.what
	}
	const most = 6
	if len(c.args) > most {
		return strings.Join(c.args[:most], " ") + " ..."
	}
	return strings.Join(c.args, " ")
}

// ok sends a command whose only news is that it succeeded.
func (n *Node) ok(ctx context.Context, c call) error {
	_, err := n.one(ctx, c)
	return err
}

// one sends a command and returns its reply. A nil reply is no error.
func (n *Node) one(ctx context.Context, c call) (valkey.ValkeyMessage, error) {
	rs, err := n.roundTrip(ctx, c, nil)
	if err != nil {
		return valkey.ValkeyMessage{}, n.wrap(c, err)
	}
	m, err := rs[0].ToMessage()
	if valkey.IsValkeyNil(err) {
		return m, nil
	}
	return m, n.wrap(c, translate(err, c.secrets))
}

// many sends the commands of one kind in one pipeline and returns one reply each. The first error that the server answers
// fails the call; the other commands have been carried out all the same.
func (n *Node) many(ctx context.Context, c call, commands [][]string) ([]valkey.ValkeyMessage, error) {
	rs, err := n.roundTrip(ctx, c, commands)
	if err != nil {
		return nil, n.wrap(c, err)
	}
	out := make([]valkey.ValkeyMessage, len(rs))
	for i, r := range rs {
		m, err := r.ToMessage()
		if err != nil {
			return nil, n.wrap(c, translate(err, c.secrets))
		}
		out[i] = m
	}
	return out, nil
}

func (n *Node) roundTrip(ctx context.Context, c call, commands [][]string) ([]valkey.ValkeyResult, error) {
	if len(commands) == 0 {
		commands = [][]string{c.args}
	}
	var rs []valkey.ValkeyResult
	err := n.withConn(ctx, c.wait, func(ctx context.Context, cn *conn) error {
		var err error
		rs, err = cn.do(ctx, commands)
		return err
	})
	return rs, err
}

// withConn lends a connection to fn, with a context that ends after the command timeout and the extra wait. Where fn
// fails the connection is closed.
func (n *Node) withConn(ctx context.Context, wait time.Duration, fn func(context.Context, *conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, n.pool.o.CommandTimeout+wait)
	defer cancel()
	c, err := n.pool.get(ctx, n)
	if err != nil {
		return &connectError{translate(err, []string{n.credentials.Password})}
	}
	if err := c.expect(ctx, n.expect); err != nil {
		c.close()
		return &connectError{err}
	}
	if err := fn(ctx, c); err != nil {
		c.close()
		return err
	}
	n.pool.put(n.key, c)
	return nil
}

// wrap says what was tried and where.
func (n *Node) wrap(c call, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s on %s: %w", c, n.endpoint.Addr, err)
}

// text returns the reply of a command that answers one string; a nil reply is the empty string.
func (n *Node) text(ctx context.Context, c call) (string, error) {
	m, err := n.one(ctx, c)
	if err != nil || m.IsNil() {
		return "", err
	}
	s, err := m.ToString()
	return s, n.wrap(c, err)
}

// number returns the reply of a command that answers an integer.
func (n *Node) number(ctx context.Context, c call) (int64, error) {
	m, err := n.one(ctx, c)
	if err != nil {
		return 0, err
	}
	i, err := m.AsInt64()
	return i, n.wrap(c, err)
}

// list returns the reply of a command that answers a list of strings.
func (n *Node) list(ctx context.Context, c call) ([]string, error) {
	m, err := n.one(ctx, c)
	if err != nil {
		return nil, err
	}
	l, err := m.AsStrSlice()
	return l, n.wrap(c, err)
}
