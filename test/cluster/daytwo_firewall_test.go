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
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What a firewall does to the packets for a pod's ports, but for those of its own
// probes.
const (
	refuses = "reject with tcp reset"
	drops   = "drop"
)

// A primary that lives may not be failed over by force, however dead it looks from
// outside: it may hold writes that its replica has not. Valkey's own failover waits
// until the primary itself has noticed that it is alone and takes no more writes.
func TestDayTwoPrimaryBehindFirewall(t *testing.T) {
	for _, verdict := range []string{refuses, drops} {
		t.Run(strings.Fields(verdict)[0], func(t *testing.T) {
			onlyFull(t)
			w := watch(t, 8, newest, 1)
			p := w.primaries()[0]
			w.step("firewall before "+p.node.Name, func() {
				w.firewall(&p.pod, verdict)
				w.Logf("writable again after %s", w.outage(p.state.Myself().Slots[0].Start, time.Now()).Round(time.Millisecond))
				// The provider's idle connection is only broken by its next keep-alive.
				w.always("no failover is forced", 25*time.Second, func(context.Context) (bool, string, error) {
					_, forced := w.failovers()
					return len(forced) == 0, fmt.Sprint(forced), nil
				})
				w.firewall(&p.pod, "")
			}, w.settle(nil))
			w.finish()
			w.verify(w.cluster)
		})
	}
}

// firewall sets what happens to packets for a pod, or ends it with an empty verdict.
func (w *watched) firewall(p *corev1.Pod, verdict string) {
	w.Helper()
	n, err := pid(p)
	if err != nil {
		w.Fatal(err)
	}
	rules := "table inet test\ndelete table inet test\n"
	if verdict != "" {
		rules += fmt.Sprintf("table inet test {\n chain in {\n  type filter hook input priority 0;\n  iif lo accept\n  meta l4proto tcp %s\n }\n}\n", verdict)
	}
	cmd := exec.CommandContext(w.Context(), "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", n), "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("nft: %v: %s", err, out)
	}
}
