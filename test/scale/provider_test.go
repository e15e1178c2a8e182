//go:build scale

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

package scale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// providerVar names the variable with the path of the provider.
const providerVar = "VALKEY_TEST_PROVIDER"

// A provider is the provider's process.
type provider struct {
	bin, kubeconfig, log string
	metrics, health      string
	profiles             string

	cmd  *exec.Cmd
	done chan struct{}
}

// newProvider prepares the provider, which ends with the test.
func newProvider(t *testing.T, kubeconfig string) *provider {
	t.Helper()
	p := &provider{bin: os.Getenv(providerVar), kubeconfig: kubeconfig, log: filepath.Join(t.TempDir(), "provider.log")}
	if *output != "" {
		// It is to be read when something went wrong.
		p.log = strings.TrimSuffix(*output, ".json") + ".log"
		_ = os.Remove(p.log)
	}
	if p.bin == "" {
		t.Fatalf("%s is not set: this test needs the path of the provider, which make sets", providerVar)
	}
	for _, addr := range []*string{&p.metrics, &p.health, &p.profiles} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*addr = l.Addr().String()
		_ = l.Close()
	}
	t.Cleanup(p.stop)
	return p
}

func (p *provider) start() error {
	f, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // The child has its own.
	p.cmd = exec.Command(p.bin, "--metrics-bind-address="+p.metrics, "--health-probe-bind-address="+p.health,
		"--pprof-bind-address="+p.profiles, "--max-rolling-clusters="+strconv.Itoa(*rolling))
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

func (p *provider) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

// ended tells whether the process ended by itself.
func (p *provider) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ready returns nil once the provider says that it is ready.
func (p *provider) ready(ctx context.Context) error {
	_, err := get(ctx, "http://"+p.health+"/readyz", func(string) {})
	return err
}

// seen returns of how many clusters the provider has made a pass and found that
// nothing is left to do.
func (p *provider) seen(ctx context.Context) (int, error) {
	return get(ctx, "http://"+p.metrics+"/metrics", func(string) {}, "valkey_cluster_converged{", "} 1")
}

// metric returns the sum of a metric over all its labels.
func (p *provider) metric(ctx context.Context, name string) (float64, error) {
	sum := 0.0
	_, err := get(ctx, "http://"+p.metrics+"/metrics", func(line string) {
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			return
		}
		if v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64); err == nil {
			sum += v
		}
	})
	return sum, err
}

// profile writes a profile of the provider to a file beside the report, if there is
// one.
func (p *provider) profile(ctx context.Context, kind string) error {
	if *output == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.profiles+"/debug/pprof/"+kind, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("cannot read the profile %s: %w", kind, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("cannot read the profile %s: %s", kind, resp.Status)
	}
	name, _, _ := strings.Cut(kind, "?")
	return os.WriteFile(strings.TrimSuffix(*output, ".json")+"-"+name+".pprof", b, 0o600)
}

// get reads a page line by line, and counts the lines that begin and end with
// some words.
func get(ctx context.Context, url string, each func(string), words ...string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if resp.StatusCode != http.StatusOK {
		return 0, errors.New(resp.Status)
	}
	n := 0
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		each(sc.Text())
		if len(words) == 2 && strings.HasPrefix(sc.Text(), words[0]) && strings.HasSuffix(sc.Text(), words[1]) {
			n++
		}
	}
	return n, sc.Err()
}

// ticksPerSecond is in what /proc counts time, on every Linux that Go runs on.
const ticksPerSecond = 100

// cpu returns the time that the process has used.
func (p *provider) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name in the second field is in parentheses and may hold blanks.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	const user, system = 11, 12
	if len(f) <= system {
		return 0, fmt.Errorf("/proc has %d fields", len(f))
	}
	u, err1 := strconv.Atoi(f[user])
	s, err2 := strconv.Atoi(f[system])
	return time.Duration(u+s) * time.Second / ticksPerSecond, errors.Join(err1, err2)
}

// rss returns the memory of the process in MiB.
func (p *provider) rss() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("/proc does not tell the memory")
}
