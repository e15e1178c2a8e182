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
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A fakeServer accepts connections and answers commands with what reply returns, raw RESP. An empty reply closes the
// connection, silence answers nothing.
type fakeServer struct {
	addr  string
	reply func(args []string) string

	mu    sync.Mutex
	open  map[net.Conn]bool
	dials int
	ended sync.WaitGroup
}

const silence = "silence"

func newFake(t *testing.T, reply func(args []string) string) *fakeServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{addr: l.Addr().String(), reply: reply, open: map[net.Conn]bool{}}
	f.ended.Go(func() { f.accept(l) })
	t.Cleanup(func() {
		_ = l.Close()
		f.closeAll()
		f.ended.Wait()
	})
	return f
}

func (f *fakeServer) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.open[c] = true
		f.dials++
		f.mu.Unlock()
		f.ended.Go(func() { f.serve(c) })
	}
}

func (f *fakeServer) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		f.mu.Lock()
		delete(f.open, c)
		f.mu.Unlock()
	}()
	r := bufio.NewReader(c)
	for {
		args, err := readCommand(r)
		if err != nil {
			return
		}
		answer := f.answer(args)
		if answer == "" {
			return
		}
		if answer == silence {
			continue
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

func (f *fakeServer) answer(args []string) string {
	if args[0] == "HELLO" {
		return "*2\r\n$5\r\nproto\r\n:2\r\n"
	}
	return f.reply(args)
}

// closeAll closes the server's side of all connections, as a restart does.
func (f *fakeServer) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		_ = c.Close()
	}
}

// resetAll breaks all connections, as a firewall does.
func (f *fakeServer) resetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

// connections returns how many connections are open and how many there ever were.
func (f *fakeServer) connections() (open, dials int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open), f.dials
}

func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r)
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(r)
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

func readLength(r *bufio.Reader) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line)[1:])
}

func pong([]string) string { return "+PONG\r\n" }
