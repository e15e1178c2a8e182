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
	"errors"
	"io"
	"syscall"
	"time"
)

// shutdownWait is how long a server may wait for its replicas before it exits; shutdown-timeout is 10 s by default.
const shutdownWait = 12 * time.Second

// Ping asks for a sign of life. A server that loads its data set, or is a replica without a link, answers an error.
func (n *Node) Ping(ctx context.Context) error { return n.ok(ctx, command("PING")) }

// Info returns the fields of sections of INFO.
func (n *Node) Info(ctx context.Context, sections ...string) (map[string]string, error) {
	s, err := n.text(ctx, command(append([]string{"INFO"}, sections...)...))
	if err != nil {
		return nil, err
	}
	return ParseInfo(s), nil
}

// Shutdown ends the server's process without saving its data. With failover a primary first hands over to a replica, if it
// has one (Valkey 9.0 and newer).
func (n *Node) Shutdown(ctx context.Context, failover bool) error {
	args := []string{"SHUTDOWN", "NOSAVE"}
	if failover {
		args = append(args, "FAILOVER")
	}
	c := command(args...)
	c.wait = shutdownWait
	err := n.ok(ctx, c)
	// A server that shuts down does not answer, it closes the connection.
	if IsNotSent(err) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
