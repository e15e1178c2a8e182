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

package valkeysim

import (
	"bufio"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Options say what a server starts with.
type Options struct {
	// Version is the version that it tells, for example "9.1.2".
	Version string
	// Users is the content of its ACL file. Without one everybody is let in.
	Users string
}

// An Order is a failover that was asked for.
type Order struct {
	// At is when the command came.
	At time.Time
	// Server is the replica that it came to.
	Server netip.Addr
	// Mode is empty, FORCE or TAKEOVER.
	Mode string
}

// A Sim plays servers. It is safe for concurrent use.
type Sim struct {
	onOrder func(Order)

	mu      sync.Mutex
	servers map[netip.Addr]*server
}

// New returns a Sim without servers. It tells of every failover that a server is asked for; onOrder must not block.
func New(onOrder func(Order)) *Sim {
	return &Sim{onOrder: onOrder, servers: map[netip.Addr]*server{}}
}

// Start starts a server at an address. It is alone in the world.
func (s *Sim) Start(ip netip.Addr, o Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[ip] = newServer(ip, o)
}

// Stop ends the process of a server: its connections end in order, and no others are served.
func (s *Sim) Stop(ip netip.Addr) {
	s.mu.Lock()
	sv := s.servers[ip]
	if sv == nil {
		s.mu.Unlock()
		return
	}
	delete(s.servers, ip)
	sv.ended = time.Now()
	conns := sv.conns
	sv.conns = nil
	s.mu.Unlock()
	for c := range conns {
		_ = c.socket.Close()
	}
}

// Primary tells whether a server runs and is a primary with slots.
func (s *Sim) Primary(ip netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sv := s.servers[ip]
	return sv != nil && sv.primary == nil && sv.slots.Len() > 0
}

// Count returns how many servers run, and how many connections they have.
func (s *Sim) Count() (servers, connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sv := range s.servers {
		connections += len(sv.conns)
	}
	return len(s.servers), connections
}

// Serve accepts connections to all servers until the listener is closed.
func (s *Sim) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go s.serve(c)
	}
}

// A conn is a connection of a client to one server.
type conn struct {
	sim    *Sim
	server *server
	socket net.Conn
	// user is who logged in, empty before.
	user string
	// queue are the commands since MULTI, nil outside of a transaction.
	queue [][]string
}

// bufferSize is small: there may be ten thousand connections.
const bufferSize = 512

func (s *Sim) serve(socket net.Conn) {
	defer func() { _ = socket.Close() }()
	c := s.admit(socket)
	if c == nil {
		return
	}
	defer s.leave(c)
	r := bufio.NewReaderSize(socket, bufferSize)
	var out []byte
	for {
		words, err := readCommand(r)
		if err != nil || len(words) == 0 {
			return
		}
		out = appendReply(out, c.answer(words))
		// What came in one packet is answered in one.
		if r.Buffered() > 0 {
			continue
		}
		if _, err := socket.Write(out); err != nil {
			return
		}
		out = out[:0]
		if cap(out) > 4*bufferSize {
			out = nil
		}
	}
}

// admit finds the server that a connection is for. It returns nil where none runs.
func (s *Sim) admit(socket net.Conn) *conn {
	at, err := netip.ParseAddrPort(socket.LocalAddr().String())
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sv := s.servers[at.Addr().Unmap()]
	if sv == nil {
		return nil
	}
	c := &conn{sim: s, server: sv, socket: socket}
	sv.conns[c] = true
	return c
}

func (s *Sim) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(c.server.conns, c)
}

// answer carries out a command.
func (c *conn) answer(words []string) any {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	name := strings.ToUpper(words[0])
	if c.queue != nil && name != "EXEC" {
		c.queue = append(c.queue, words)
		return simple("QUEUED")
	}
	return c.do(name, words[1:])
}
