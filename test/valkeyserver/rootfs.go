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
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Versions returns the versions that tests run on, oldest first.
func Versions() []string { return []string{"8.0", "8.1", "9.1"} }

// rootfs returns the root file system of a version.
func rootfs(t testing.TB, version string) string {
	t.Helper()
	dir := os.Getenv("VALKEY_TEST_ROOTFS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatalf("VALKEY_TEST_ROOTFS is not set and there is no cache directory: %v", err)
		}
		dir = filepath.Join(cache, "provider-valkey", "rootfs")
	}
	root := filepath.Join(dir, "valkey-"+version)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/valkey-server")); err != nil {
		t.Fatalf("there is no Valkey %s for tests (%v): build the root file systems, or set VALKEY_TEST_ROOTFS to the directory that has valkey-%s in it", version, err, version)
	}
	return root
}

// command runs valkey-server with the libraries it was built with, whatever the host has. The name matters: valkey-server
// is the same file as valkey-check-rdb and goes by its name.
func command(root, conf string) *exec.Cmd { return program(root, "valkey-server", conf) }

func program(root, name string, args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(root, "lib64/ld-linux-x86-64.so.2"), append([]string{
		"--argv0", name,
		"--library-path", filepath.Join(root, "usr/lib/x86_64-linux-gnu"),
		filepath.Join(root, "usr/bin", name),
	}, args...)...)
}

// Command runs a program of the server's image, for example valkey-cli.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
	return program(s.root, name, args...)
}
