//go:build cluster

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

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// providerName is what the provider calls itself to the API server, so that its
// requests can be told from others'.
const providerName = "provider-under-test"

// A process is the provider.
type process struct {
	bin, log        string
	metrics, health string
	kubeconfig      string
	// flags are those of one test, beside those of all.
	flags []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

func newProcess(ctx context.Context, bin string) (*process, error) {
	dir, err := os.MkdirTemp("", "valkey-cluster-")
	if err != nil {
		return nil, err
	}
	p := &process{log: filepath.Join(dir, "provider.log")}
	if p.kubeconfig, err = kubeconfig(ctx, dir, restConfig); err != nil {
		return nil, err
	}
	if p.bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	if p.metrics, err = freeAddress(); err != nil {
		return nil, err
	}
	p.health, err = freeAddress()
	return p, err
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// launch starts the provider and does not wait for anything.
func (p *process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // The child has its own.
	p.cmd = exec.Command(p.bin)
	p.cmd.Args = []string{providerName, "--debug", "--metrics-bind-address=" + p.metrics, "--health-probe-bind-address=" + p.health}
	p.cmd.Args = append(p.cmd.Args, p.flags...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the provider: %w", err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(p.cmd, p.done)
	return nil
}

// start starts the provider and waits until it is ready.
func (p *process) start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	_, err := await("the provider is ready", 30*time.Second, func(context.Context) (bool, string, error) {
		select {
		case <-p.done:
			return false, "it ended:\n" + p.logTail("", 10), nil
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.health+"/readyz", nil)
		if err != nil {
			return false, "", err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, "", err
		}
		return resp.StatusCode == http.StatusOK, resp.Status, resp.Body.Close()
	})
	return err
}

func (p *process) end(sig syscall.Signal) {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig)
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-done
	}
}

// revive starts the provider unless it runs.
func (p *process) revive(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	default:
		return
	}
	if err := p.launch(); err != nil {
		t.Error(err)
	}
}

// with starts the provider anew with flags of its own until the test ends, which
// must not be parallel to others.
func (p *process) with(t *testing.T, flags ...string) {
	t.Helper()
	p.restart(t, flags...)
	t.Cleanup(func() { p.restart(t) })
}

func (p *process) restart(t *testing.T, flags ...string) {
	t.Helper()
	p.stop()
	p.flags = flags
	if err := p.start(context.Background()); err != nil {
		t.Error(err)
	}
}

// kill ends the provider by SIGKILL.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop ends the provider by SIGTERM.
func (p *process) stop() { p.end(syscall.SIGTERM) }

// logTail returns the last lines of the log that hold a word.
func (p *process) logTail(word string, n int) string {
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close() //nolint:errcheck // Only read.
	var lines []string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if strings.Contains(sc.Text(), word) {
			lines = append(lines, sc.Text())
		}
		if len(lines) > n {
			lines = lines[1:]
		}
	}
	return strings.Join(lines, "\n")
}

// A write is a request of the provider that changes something at the API server.
type write struct {
	Verb      string `json:"verb"`
	URI       string `json:"requestURI"`
	Agent     string `json:"userAgent"`
	ObjectRef struct {
		Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	Response struct {
		Code int
	} `json:"responseStatus"`
}

func (w write) reads() bool { return slices.Contains([]string{"get", "list", "watch"}, w.Verb) }

func (w write) String() string { return w.Verb + " " + w.URI }

// An audit reads the API server's audit log from a point on.
type audit struct {
	path string
	from int64
}

// newAudit starts to count the provider's writes.
func newAudit() (*audit, error) {
	path := os.Getenv(auditVar)
	if path == "" {
		return nil, fmt.Errorf("set %s to the path of the API server's audit log", auditVar)
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &audit{path: path, from: st.Size()}, nil
}

// writes returns what the provider wrote since the start, for one namespace or,
// with an empty one, for all.
func (a *audit) writes(namespace string) ([]write, error) {
	f, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // Only read.
	if st, err := f.Stat(); err != nil || st.Size() < a.from {
		return nil, fmt.Errorf("the audit log %s was rotated or cannot be read: %w", a.path, err)
	}
	if _, err := f.Seek(a.from, io.SeekStart); err != nil {
		return nil, err
	}
	var out []write
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if !strings.Contains(sc.Text(), providerName) {
			continue
		}
		w := write{}
		if err := json.Unmarshal(sc.Bytes(), &w); err != nil {
			continue // The last line may be half written.
		}
		if strings.HasPrefix(w.Agent, providerName+"/") && !w.reads() && (namespace == "" || w.ObjectRef.Namespace == namespace) {
			out = append(out, w)
		}
	}
	return out, sc.Err()
}
