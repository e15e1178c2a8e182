//go:build crossplane

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

package crossplane

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("crossplane.update", false, "write what is rendered to testdata")

// TestRender renders the example's Cache with both Compositions, as a platform
// team would before it ships a change. It needs no Kubernetes.
func TestRender(t *testing.T) {
	functions := filepath.Join(t.TempDir(), "functions.yaml")
	writeFunctions(t, functions)
	for name, tc := range map[string]struct{ composition, want string }{
		"Plain": {"composition.yaml", "testdata/rendered.yaml"},
		"TLS":   {"composition-tls.yaml", "testdata/rendered-tls.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			composition := filepath.Join(t.TempDir(), "composition.yaml")
			for _, u := range read(t, root+"/examples/composition/"+tc.composition) {
				if u.GetKind() == "Composition" {
					write(t, composition, u)
				}
			}
			got := run(t, bin(t, "crossplane"), "composition", "render", root+"/examples/composition/cache.yaml", composition, functions,
				"--crossplane-binary="+bin(t, "crossplane-core"))
			if *update {
				if err := os.WriteFile(tc.want, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(tc.want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// writeFunctions starts the functions of the example and writes a file that says
// where they listen.
func writeFunctions(t *testing.T, file string) {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, u := range read(t, root+"/examples/composition/functions.yaml") {
		address := freeAddress(t)
		cmd := exec.Command(bin(t, u.GetName()), "--insecure", "--address", address)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		u.SetAnnotations(map[string]string{"render.crossplane.io/runtime": "Development", "render.crossplane.io/runtime-development-target": address})
		all = append(all, u)
	}
	write(t, file, all...)
}

func write(t *testing.T, file string, objs ...*unstructured.Unstructured) {
	t.Helper()
	var out []byte
	for _, u := range objs {
		data, err := yaml.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, "---\n"...), data...)
	}
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // Only its address counts.
	return l.Addr().String()
}
