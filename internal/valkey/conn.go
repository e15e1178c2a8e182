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
	"net"
	"syscall"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// readBuffer and writeBuffer are for what most replies and commands take. There may be thousands of connections, and
	// valkey-go's defaults would take more than a MiB for each.
	readBuffer, writeBuffer = 4 << 10, 512
	// ringScale is the binary logarithm of valkey-go's pipeline queue, which a connection of ours does not use.
	ringScale = 1
	// deadlineCap is above every deadline of a command: valkey-go shortens a deadline to ConnWriteTimeout.
	deadlineCap = time.Hour
)

// keepAlive lets the kernel notice a peer that vanished, within 30 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// A conn is one authenticated connection. Only one goroutine at a time uses it: so valkey-go starts no goroutines, and a
// deadline ends in a closed connection instead of a queue behind a silent server.
type conn struct {
	client valkey.Client
	socket *net.TCPConn
	tls    *tls.Config

	idleSince time.Time
	// id is the node id of the server, empty while nobody asked.
	id string
	// noMigrations says that the server is older than 9.0 and does not know slot migrations.
	noMigrations bool
}

// dial connects and authenticates within timeout and the deadline of ctx.
func dial(ctx context.Context, n *Node, timeout time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := &conn{tls: n.tls}
	option := valkey.ClientOption{
		InitAddress:       []string{n.endpoint.Addr},
		Username:          n.credentials.Username,
		Password:          n.credentials.Password,
		ForceSingleClient: true,
		PipelineMultiplex: -1,
		DisableRetry:      true,
		DisableCache:      true,
		// In RESP3, CLUSTER INFO and NODES come as verbatim strings, of which valkey-go 1.0.79 leaves the "txt:" prefix on.
		AlwaysRESP2:         true,
		ReadBufferEachConn:  readBuffer,
		WriteBufferEachConn: writeBuffer,
		RingScaleEachConn:   ringScale,
		ConnWriteTimeout:    deadlineCap,
		ClientSetInfo:       valkey.DisableClientSetInfo,
		// The timeout bounds the HELLO. A KeepAlive of 0 would mean a PING every second on every idle connection.
		Dialer: net.Dialer{Timeout: timeout, KeepAlive: -1},
		// NewClient has no context, so ours comes in by closure.
		DialCtxFn: func(_ context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if c.socket != nil {
				// valkey-go wants to reconnect; a broken connection must stay broken.
				return nil, net.ErrClosed
			}
			return c.open(ctx, addr)
		},
	}
	client, err := valkey.NewClient(option)
	c.client = client
	if err != nil {
		c.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return c, nil
}

func (c *conn) open(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c.socket = nc.(*net.TCPConn)
	if c.tls == nil {
		return nc, nil
	}
	t := tls.Client(nc, c.tls)
	if err := t.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return t, nil
}

// do sends commands in one pipeline. It fails as a whole where the connection breaks or ctx ends, and the connection is
// of no use then.
func (c *conn) do(ctx context.Context, commands [][]string) ([]valkey.ValkeyResult, error) {
	// valkey-go heeds the deadline of a context but not its cancellation.
	stop := context.AfterFunc(ctx, func() { _ = c.socket.Close() })
	defer stop()
	built := make([]valkey.Completed, len(commands))
	for i, args := range commands {
		// Commands are not made by their builders: some of them are marked as blocking there and take a second connection.
		built[i] = c.client.B().Arbitrary(args...).Build()
	}
	results := c.client.DoMulti(ctx, built...)
	for _, r := range results {
		if err := r.NonValkeyError(); err != nil && !valkey.IsValkeyNil(err) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, err
		}
	}
	return results, nil
}

// alive reports whether an idle connection is still open: nothing may have come in, neither data nor an end. It does not
// block and sends nothing.
func (c *conn) alive() bool {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) { quiet, _ = peek(fd) })
	return err == nil && quiet
}

// peek tells whether a connection is open and silent, and whether its other side has ended it in order.
func peek(fd uintptr) (quiet, ended bool) {
	var b [1]byte
	n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err == syscall.EAGAIN || err == syscall.EINTR, err == nil && n == 0
}

// close ends the connection at once. The socket goes first: the client's own Close sends a PING and waits a second for its
// answer.
func (c *conn) close() {
	if c.socket != nil {
		_ = c.socket.Close()
	}
	if c.client != nil {
		c.client.Close()
	}
}
