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

package valkeyserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// Port is the port on which every server listens.
const Port = 6379

// startTimeout is generous: tests share few processors.
const startTimeout = 30 * time.Second

// Options say how a server starts.
type Options struct {
	// Conf are lines of valkey.conf, on top of what every server gets. An empty value is written as "".
	Conf map[string]string
	// ACL is the content of the ACL file. Empty means none.
	ACL string
	// Credentials are those that the helpers of this package use. They must be able to do everything.
	Credentials valkey.Credentials
	// TLS makes the server speak TLS only, to clients and to other members.
	TLS *TLS
	// IP is the address of the server. Empty means one that nobody uses. It may be that of a server that has ended, as
	// addresses of pods are given to other pods.
	IP string
}

// A Server is a valkey-server process.
type Server struct {
	// IP is the server's own address and Addr the same with the port.
	IP, Addr string
	// Version is the version it was started with, for example "8.0".
	Version string
	// Dir is the server's working directory.
	Dir string

	o    Options
	root string
	proc *process
	pool *valkey.Pool
	tls  *tls.Config
}

// Start starts a server and waits until it answers. It is a cluster of its own, without slots.
func Start(t testing.TB, version string, o Options) *Server {
	t.Helper()
	s := launch(t, version, o)
	s.await(t)
	return s
}

// launch starts a server and does not wait.
func launch(t testing.TB, version string, o Options) *Server {
	t.Helper()
	ip := o.IP
	if ip == "" {
		ip = nextIP(t)
	}
	s := &Server{
		IP:      ip,
		Addr:    net.JoinHostPort(ip, strconv.Itoa(Port)),
		Version: version,
		Dir:     t.TempDir(),
		o:       o,
		root:    rootfs(t, version),
		pool:    valkey.NewPool(valkey.PoolOptions{}),
	}
	if o.TLS != nil {
		s.tls = o.TLS.Config(t)
	}
	s.writeFiles(t)
	// Cleanups run last first: the directory must outlive the server.
	t.Cleanup(func() {
		s.pool.Close()
		s.Kill()
		if t.Failed() {
			t.Logf("end of the log of %s (%s):\n%s", s.Addr, s.Version, s.tail())
		}
	})
	s.run(t)
	return s
}

// StartAgain starts a server that has ended, with the same address and directory, and waits until it answers.
func (s *Server) StartAgain(t testing.TB) {
	t.Helper()
	s.run(t)
	s.await(t)
}

// StartLoading starts a server that has ended and does not wait: it may have a data set to load.
func (s *Server) StartLoading(t testing.TB) {
	t.Helper()
	s.run(t)
}

func (s *Server) run(t testing.TB) {
	t.Helper()
	p, err := start(command(s.root, s.path("valkey.conf")), s.path("valkey.log"))
	if err != nil {
		t.Fatalf("cannot start valkey-server %s: %v", s.Version, err)
	}
	s.proc = p
}

func (s *Server) await(t testing.TB) {
	t.Helper()
	Await(t, startTimeout, "valkey-server "+s.Version+" to answer on "+s.Addr, func() string {
		select {
		case <-s.Done():
			t.Fatalf("valkey-server %s ended at start: %v\n%s", s.Version, s.proc.err, s.tail())
		default:
		}
		return text(s.Node().Ping(context.Background()))
	})
}

// Endpoint returns where the server listens.
func (s *Server) Endpoint() valkey.Endpoint {
	e := valkey.Endpoint{Addr: s.Addr}
	if s.o.TLS != nil {
		e.ServerName = s.o.TLS.Name
	}
	return e
}

// TLSConfig returns the TLS settings of clients, nil for a server without TLS.
func (s *Server) TLSConfig() *tls.Config { return s.tls }

// Node returns a handle with the credentials of Options.
func (s *Server) Node() *valkey.Node { return s.NodeOf(s.pool) }

// NodeOf returns a handle of a pool with the credentials of Options.
func (s *Server) NodeOf(p *valkey.Pool) *valkey.Node {
	return p.Node(s.Endpoint(), s.o.Credentials, s.tls)
}

// WriteACL replaces the content of the ACL file, which the server does not notice.
func (s *Server) WriteACL(t testing.TB, acl string) { s.write(t, "users.acl", []byte(acl)) }

// Stop asks the server to end and waits for it.
func (s *Server) Stop() {
	s.proc.signal(syscall.SIGTERM)
	<-s.Done()
}

// Kill ends the server at once, as a crash does, and waits for it.
func (s *Server) Kill() {
	if s.proc == nil {
		return
	}
	s.proc.signal(syscall.SIGKILL)
	<-s.Done()
}

// Pause stops the process: its kernel still accepts connections and nobody answers.
func (s *Server) Pause() { s.proc.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume() { s.proc.signal(syscall.SIGCONT) }

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.proc.done }

// PID returns the id of the process.
func (s *Server) PID() int { return s.proc.cmd.Process.Pid }

// Log returns what the server has logged.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.path("valkey.log"))
	return string(b)
}

func (s *Server) tail() string {
	const most = 1500
	log := s.Log()
	return log[max(0, len(log)-most):]
}

func (s *Server) path(name string) string { return filepath.Join(s.Dir, name) }

func (s *Server) writeFiles(t testing.TB) {
	t.Helper()
	if s.o.ACL != "" {
		s.WriteACL(t, s.o.ACL)
	}
	if s.o.TLS != nil {
		s.write(t, "ca.crt", s.o.TLS.CA)
		s.write(t, "tls.crt", s.o.TLS.Cert)
		s.write(t, "tls.key", s.o.TLS.Key)
	}
	s.write(t, "valkey.conf", []byte(s.conf()))
}

func (s *Server) conf() string {
	conf := map[string]string{
		"port":                strconv.Itoa(Port),
		"bind":                s.IP,
		"bind-source-addr":    s.IP,
		"cluster-enabled":     "yes",
		"cluster-announce-ip": s.IP,
		"dir":                 s.Dir,
		"save":                "",
		"protected-mode":      "no",
		"databases":           "1",
		// The default waits 5 s for more replicas to come before a full copy starts.
		"repl-diskless-sync-delay": "0",
	}
	if s.o.ACL != "" {
		conf["aclfile"] = s.path("users.acl")
	}
	if s.o.TLS != nil {
		maps.Copy(conf, map[string]string{
			"port":             "0",
			"tls-port":         strconv.Itoa(Port),
			"tls-cluster":      "yes",
			"tls-replication":  "yes",
			"tls-ca-cert-file": s.path("ca.crt"),
			"tls-cert-file":    s.path("tls.crt"),
			"tls-key-file":     s.path("tls.key"),
		})
	}
	maps.Copy(conf, s.o.Conf)
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		v := conf[k]
		if v == "" {
			v = `""`
		}
		fmt.Fprintf(&b, "%s %s\n", k, v)
	}
	return b.String()
}

func (s *Server) write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(s.path(name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
