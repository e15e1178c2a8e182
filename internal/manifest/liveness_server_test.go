//go:build server

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

package manifest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// probe runs the liveness probe of pods against a server, and fails as kubelet has it.
func probe(s *valkeyserver.Server) (out string, err error) {
	args := Pod(node(nil), PodOptions{}).Spec.Containers[0].LivenessProbe.Exec.Command
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "localhost", s.IP)
	}
	said := &strings.Builder{}
	cmd := s.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	err = cmd.Wait()
	return said.String(), err
}

// A server that answers with an error lives: it loads, runs a script, waits for its
// primary, or wants a password.
func TestLivenessOfServers(t *testing.T) {
	const script = "local t = redis.call('TIME') local e = t[1] + 60 repeat t = redis.call('TIME') until t[1] + 0 >= e"
	for _, v := range valkeyserver.Versions() {
		run := func(s *valkeyserver.Server, args ...string) string {
			out, _ := s.Command("valkey-cli", append([]string{"-h", s.IP}, args...)...).Output()
			return strings.TrimSpace(string(out))
		}
		cases := map[string]struct {
			reason string
			reply  string
			conf   map[string]string
			make   func(*testing.T, *valkeyserver.Server)
			dead   bool
		}{
			"Idle": {reason: "One that answers lives.", reply: "PONG"},
			"Loading": {
				reason: "One that loads its data lives.", reply: "LOADING",
				conf: map[string]string{"key-load-delay": "20000", "loading-process-events-interval-bytes": "1024"},
				make: func(t *testing.T, s *valkeyserver.Server) {
					run(s, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
					valkeyserver.Await(t, time.Minute, "the slots", func() string {
						if run(s, "SET", "{x}0", "v") != "OK" {
							return "down"
						}
						return ""
					})
					for i := range 300 {
						run(s, "SET", fmt.Sprint("{x}", i), strings.Repeat("v", 1000))
					}
					run(s, "SAVE")
					s.Kill()
					s.StartLoading(t)
				},
			},
			"Busy": {
				reason: "One that runs a long script lives.", reply: "BUSY", conf: map[string]string{"busy-reply-threshold": "100"},
				make: func(t *testing.T, s *valkeyserver.Server) {
					cmd := s.Command("valkey-cli", "-h", s.IP, "EVAL", script, "0")
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
				},
			},
			"PrimaryDown": {
				reason: "One that waits for its primary lives.", reply: "MASTERDOWN", conf: map[string]string{"replica-serve-stale-data": "no"},
				make: func(t *testing.T, s *valkeyserver.Server) {
					p := valkeyserver.Start(t, s.Version, valkeyserver.Options{})
					id := run(p, "CLUSTER", "MYID")
					run(s, "CLUSTER", "MEET", p.IP, "6379")
					valkeyserver.Await(t, time.Minute, "the replica", func() string {
						if got := run(s, "CLUSTER", "REPLICATE", id); got != "OK" {
							return "the reply is " + got
						}
						return ""
					})
					p.Kill()
				},
			},
			"Password": {
				reason: "One that does not let us in lives.", reply: "NOAUTH",
				make: func(_ *testing.T, s *valkeyserver.Server) { run(s, "CONFIG", "SET", "requirepass", "x") },
			},
			"Hangs": {
				reason: "One that does not answer is dead.", dead: true,
				make: func(t *testing.T, s *valkeyserver.Server) { s.Pause(); t.Cleanup(s.Resume) },
			},
		}
		for name, tc := range cases {
			t.Run(v+"/"+name, func(t *testing.T) {
				s := valkeyserver.Start(t, v, valkeyserver.Options{Conf: tc.conf})
				if tc.make != nil {
					tc.make(t, s)
				}
				if !tc.dead {
					valkeyserver.Await(t, time.Minute, "the reply "+tc.reply, func() string {
						if got := run(s, "PING"); !strings.HasPrefix(got, tc.reply) {
							return "the reply is " + got
						}
						return ""
					})
				}
				if out, err := probe(s); (err != nil) != tc.dead {
					t.Errorf("%s\nliveness probe: %v: %s", tc.reason, err, out)
				}
			})
		}
	}
}
