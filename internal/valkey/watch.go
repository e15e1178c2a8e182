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
	"time"
)

// Watch holds an idle connection to the server. When that ends, the returned channel receives whether the server's side
// ended it in order, as the kernel does for a process that dies, and is closed. It receives false where the connection was
// broken instead, which anybody in between can do: by a reset, or because the host has not answered keep-alives for about
// 30 s. It is closed without a value when ctx ends. No commands are sent. An ended connection alone does not prove that the
// server is dead; a setting like timeout ends one as well. The connection does not belong to the pool: closing that does
// not end the watch.
func (n *Node) Watch(ctx context.Context) (<-chan bool, error) {
	dialCtx, cancel := context.WithTimeout(ctx, n.pool.o.CommandTimeout)
	defer cancel()
	c, err := dial(dialCtx, n, n.pool.o.DialTimeout)
	if err != nil {
		return nil, n.wrap(call{what: "watching"}, &connectError{translate(err, []string{n.credentials.Password})})
	}
	// From here on the socket is all that is needed. What the client has beside it is most of the memory of a connection,
	// and there is one for every primary.
	c.client = nil
	raw, err := c.socket.SyscallConn()
	if err == nil {
		// The handshake has left its deadline on the socket.
		err = c.socket.SetDeadline(time.Time{})
	}
	if err != nil {
		c.close()
		return nil, n.wrap(call{what: "watching"}, err)
	}
	ended := make(chan bool, 1)
	go func() {
		defer close(ended)
		defer context.AfterFunc(ctx, func() { _ = c.socket.Close() })()
		defer c.close()
		inOrder := false
		// The runtime calls the function whenever something comes in, and gives up when the socket is closed.
		err := raw.Read(func(fd uintptr) bool {
			var quiet bool
			quiet, inOrder = peek(fd)
			return !quiet
		})
		if err == nil && ctx.Err() == nil {
			ended <- inOrder
		}
	}()
	return ended, nil
}
