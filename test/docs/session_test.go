//go:build docs

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

package docs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// order in which documents run. Each goes on from where the one before ends, as
// a reader would: the cache of the quickstart is the one that operations.md looks
// at and in the end uninstalls.
var order = []string{"docs/quickstart.md", "docs/security.md", "docs/operations.md", "docs/migration.md"}

// patience is how long one block may take. The first one of a machine compiles.
const patience = 40 * time.Minute

// TestDocs runs the commands of the documents as they are written, one shell for
// each document, on this machine and its local Kubernetes.
func TestDocs(t *testing.T) {
	blocks, err := All(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if b.Mark == MarkRun && !slices.Contains(order, b.Doc) {
			t.Errorf("%s: nothing runs the commands of this document", b.Where())
		}
	}
	newShell(t).script(t, "free.sh")
	t.Cleanup(func() {
		if t.Failed() {
			sweep(t)
		}
	})
	for _, doc := range order {
		if !t.Run(name(doc), func(t *testing.T) { runDoc(t, doc, blocks) }) {
			t.FailNow()
		}
	}
}

// name of a document in file names and names of tests.
func name(doc string) string { return strings.TrimSuffix(filepath.Base(doc), ".md") }

func runDoc(t *testing.T, doc string, blocks []Block) {
	sh := newShell(t)
	// What the reader of a document has before it, and what it leaves to them.
	sh.script(t, name(doc)+".sh")
	defer sh.script(t, name(doc)+"-after.sh")
	start := time.Now()
	for _, b := range blocks {
		if b.Doc != doc || b.Mark != MarkRun {
			continue
		}
		begun := time.Now()
		out, err := sh.run(b.Text)
		if err != nil {
			t.Fatalf("%s: %v\n%s\nprinted:\n%s", b.Where(), err, b.Text, out)
		}
		if missing, ok := Matches(b.Output, out); b.Output != "" && !ok {
			t.Fatalf("%s: the line %q is promised and not there\n%s\nprinted:\n%s", b.Where(), missing, b.Text, out)
		}
		t.Logf("%5.1f s  %s", time.Since(begun).Seconds(), b.Where())
	}
	t.Logf("%5.1f s  %s", time.Since(start).Seconds(), doc)
}

// script runs a script of the tests, if there is one of that name.
func (s *shell) script(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if errors.Is(err, os.ErrNotExist) || t.Failed() {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	out, err := s.run(string(text))
	if err != nil {
		t.Fatalf("%s: %v\n%s", file, err, out)
	}
	t.Logf("%5.1f s  %s", time.Since(start).Seconds(), file)
}

// sweep takes away what a document that failed halfway left behind.
func sweep(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("testdata/sweep.sh")
	if err != nil {
		t.Fatal(err)
	}
	out, err := newShell(t).run(string(text))
	t.Logf("swept up (%v):\n%s", err, out)
}

// A shell is one that a reader has open. It is strict: a command that fails ends
// it.
type shell struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
	dir string
	n   int
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{cmd: exec.Command("bash"), dir: t.TempDir()}
	s.cmd.Dir = root
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = pw, pw
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = pw.Close()
	s.in, s.out = in, bufio.NewReader(pr)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.cmd.Wait()
		// What a command left running may still hold the pipe.
		_ = pr.SetReadDeadline(time.Now().Add(time.Second))
	}()
	t.Cleanup(func() {
		_ = s.in.Close()
		<-ended
		_ = pr.Close()
	})
	return s
}

// run has the shell read commands from a file and returns what it printed. The
// commands' own input is empty, so that none of them eats what comes after it.
func (s *shell) run(text string) (string, error) {
	s.n++
	file := filepath.Join(s.dir, fmt.Sprintf("%d.sh", s.n))
	if err := os.WriteFile(file, []byte("set -euo pipefail\n"+text), 0o600); err != nil {
		return "", err
	}
	end := fmt.Sprintf("--- end of block %d of %d", s.n, s.cmd.Process.Pid)
	if _, err := fmt.Fprintf(s.in, ". %s </dev/null; echo; echo '%s'\n", file, end); err != nil {
		return "", err
	}
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	var out strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if strings.TrimSpace(line) == end {
			return out.String(), nil
		}
		out.WriteString(line)
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			return out.String(), errors.New("a command failed")
		}
		if err != nil {
			return out.String(), err
		}
	}
}
