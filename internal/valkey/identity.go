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
	"fmt"
)

// An otherNodeError says that the server at an address is not the one expected.
type otherNodeError struct{ have, want string }

func (e *otherNodeError) Error() string {
	return fmt.Sprintf("the server is node %s instead of %s", e.have, e.want)
}

// IsOtherNode reports whether a command was not sent because a server with another node id answers at the address.
func IsOtherNode(err error) bool {
	var oe *otherNodeError
	return errors.As(err, &oe)
}

// Expecting returns a handle on the same server that sends commands only to the node with an id: an address may
// meanwhile belong to another server. A connection is asked for the id once, since it ends with its server.
func (n *Node) Expecting(id string) *Node {
	out := *n
	out.expect = id
	return &out
}

// expect makes sure that the server is the node with an id.
func (c *conn) expect(ctx context.Context, id string) error {
	if id == "" || c.id == id {
		return nil
	}
	rs, err := c.do(ctx, [][]string{{"CLUSTER", "MYID"}})
	if err != nil {
		return err
	}
	if c.id, err = rs[0].ToString(); err != nil {
		return err
	}
	if c.id != id {
		return &otherNodeError{have: c.id, want: id}
	}
	return nil
}
