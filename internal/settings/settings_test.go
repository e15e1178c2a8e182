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

package settings

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// with returns the forced settings of an input and more.
func with(in Input, more map[string]string) map[string]string {
	out := Forced(in)
	maps.Copy(out, more)
	return out
}

func TestForced(t *testing.T) {
	plain := map[string]string{
		"cluster-enabled":                 "yes",
		"cluster-node-timeout":            "5000",
		"cluster-config-file":             "/var/lib/valkey/nodes.conf",
		"cluster-allow-replica-migration": "no",
		"dir":                             "/var/lib/valkey",
		"port":                            "6379",
		"bind":                            "* -::*",
		"protected-mode":                  "no",
		"aclfile":                         "/etc/valkey/acl/users.acl",
		"primaryuser":                     "_momento_repl",
	}
	tls := maps.Clone(plain)
	maps.Copy(tls, map[string]string{
		"port":                            "0",
		"tls-port":                        "6379",
		"tls-cluster":                     "yes",
		"tls-replication":                 "yes",
		"tls-cert-file":                   "/etc/valkey/tls/tls.crt",
		"tls-key-file":                    "/etc/valkey/tls/tls.key",
		"tls-ca-cert-file":                "/etc/valkey/tls/ca.crt",
		"tls-auth-clients":                "no",
		"cluster-announce-hostname":       "c-01234.c.ns.svc.cluster.local",
		"cluster-preferred-endpoint-type": "hostname",
	})
	if diff := cmp.Diff(plain, Forced(Input{Cluster: "c", Namespace: "ns", Node: "c-01234"})); diff != "" {
		t.Errorf("without TLS: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(tls, Forced(Input{TLS: true, Cluster: "c", Namespace: "ns", Node: "c-01234"})); diff != "" {
		t.Errorf("with TLS: -want +got:\n%s", diff)
	}
}

func TestPerNode(t *testing.T) {
	a := Forced(Input{TLS: true, Cluster: "c", Namespace: "ns", Node: "c-00000"})
	b := Forced(Input{TLS: true, Cluster: "c", Namespace: "ns", Node: "c-11111"})
	for k := range a {
		if got, want := PerNode(k), a[k] != b[k]; got != want {
			t.Errorf("PerNode(%q) is %t, but differing between nodes is %t", k, got, want)
		}
	}
}

func TestRender(t *testing.T) {
	plain := Input{Cluster: "c", Namespace: "ns", Node: "c-01234"}
	tls := plain
	tls.TLS = true
	cases := map[string]struct {
		reason string
		in     Input
		user   map[string]string
		want   Rendered
		err    error
	}{
		"Nothing":        {"Without settings there are the forced ones.", plain, nil, Rendered{Settings: Forced(plain)}, nil},
		"User":           {"What nobody forces is the user's.", plain, map[string]string{"maxmemory": "1gb", "save": ""}, Rendered{Settings: with(plain, map[string]string{"maxmemory": "1gb", "save": ""})}, nil},
		"LowerCase":      {"Valkey reads names in any case.", plain, map[string]string{"MaxMemory": "1gb"}, Rendered{Settings: with(plain, map[string]string{"maxmemory": "1gb"})}, nil},
		"Overridden":     {"A forced value wins, and the user is told.", plain, map[string]string{"port": "1234", "Cluster-Enabled": "no"}, Rendered{Settings: Forced(plain), Overridden: []string{"cluster-enabled", "port"}}, nil},
		"SameAsForced":   {"There is nothing to tell where the user wants what is forced.", plain, map[string]string{"cluster-enabled": "yes"}, Rendered{Settings: Forced(plain)}, nil},
		"PrimaryAuth":    {"The replication password is forced, but is no setting that users may read.", plain, map[string]string{"primaryauth": "mine", "primaryuser": "me"}, Rendered{Settings: Forced(plain), Overridden: []string{"primaryauth", "primaryuser"}}, nil},
		"TLSForced":      {"With TLS its settings are forced and so overridden.", tls, map[string]string{"tls-port": "1", "cluster-announce-hostname": "x"}, Rendered{Settings: Forced(tls), Overridden: []string{"cluster-announce-hostname", "tls-port"}}, nil},
		"TLSWithout":     {"Without TLS they are refused: a TLS port without a certificate is a server that does not start.", plain, map[string]string{"tls-port": "1"}, Rendered{}, &RefusedError{Keys: []string{"tls-port"}}},
		"TLSOther":       {"What TLS does not force is refused.", tls, map[string]string{"tls-ca-cert-dir": "/x"}, Rendered{}, &RefusedError{Keys: []string{"tls-ca-cert-dir"}}},
		"Refused":        {"All refused keys are named, sorted and as Valkey reads them.", plain, map[string]string{"user": "x", "RequirePass": "x", "maxmemory": "1gb"}, Rendered{}, &RefusedError{Keys: []string{"requirepass", "user"}}},
		"Injection":      {"A name with a line break would be two directives.", plain, map[string]string{"save \"\"\nport": "7"}, Rendered{}, &InvalidKeyError{Keys: []string{"save \"\"\nport"}}},
		"Module":         {"Modules are not loaded, so their settings would stop the server.", plain, map[string]string{"bf.error-rate": "1"}, Rendered{}, &InvalidKeyError{Keys: []string{"bf.error-rate"}}},
		"EmptyKey":       {"An empty name is none.", plain, map[string]string{"": "1"}, Rendered{}, &InvalidKeyError{Keys: []string{""}}},
		"DifferOnlyCase": {"Which of two values holds would be chance.", plain, map[string]string{"maxmemory": "1gb", "MaxMemory": "2gb"}, Rendered{}, &DuplicateKeyError{Keys: []string{"MaxMemory", "maxmemory"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.User = tc.user
			got, err := Render(tc.in)
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Errorf("%s: error: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		err  error
		want string
	}{
		"Refused":   {&RefusedError{Keys: []string{"requirepass", "tls-port"}}, `setting "requirepass" is refused: it would change how users or replicas log in; define users in spec.acl instead; setting "tls-port" is refused: TLS is configured by the cluster's spec.tls; leave it out`},
		"Invalid":   {&InvalidKeyError{Keys: []string{"a b", "c\n"}}, `"a b", "c\n" cannot be a Valkey setting: names consist of letters, digits and hyphens`},
		"Duplicate": {&DuplicateKeyError{Keys: []string{"A", "a"}}, `"A", "a" name the same Valkey setting, keep one of them`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	for _, key := range []string{
		"requirepass", "masterauth", "masteruser", "user", "include", "loadmodule", "rename-command",
		"daemonize", "supervised", "pidfile", "logfile", "syslog-enabled", "syslog-ident", "syslog-facility",
		"unixsocket", "unixsocketperm", "unixsocketgroup", "tls-port", "tls-ciphers", "cluster-announce-ip",
		"cluster-announce-client-ipv4", "cluster-port", "replicaof", "slaveof", "enable-module-command",
		"enable-debug-command", "enable-protected-configs", "dbfilename", "appenddirname", "appendfilename",
		"bind-source-addr", "set-proc-title", "sentinel", "ReplicaOf",
	} {
		if why, refused := Refusal(key); !refused || why == "" {
			t.Errorf("Refusal(%q) = %q, %t", key, why, refused)
		}
	}
	for _, key := range []string{
		"maxmemory", "save", "appendonly", "cluster-require-full-coverage", "repl-diskless-sync-delay",
		"shutdown-on-sigterm", "users", "cluster-node-timeout", "primaryauth", "availability-zone",
	} {
		if why, refused := Refusal(key); refused {
			t.Errorf("Refusal(%q) = %q", key, why)
		}
	}
}

// TestNothingForcedPasses checks that no spelling of a forced setting reaches the
// result with another value.
func TestNothingForcedPasses(t *testing.T) {
	for _, tls := range []bool{false, true} {
		in := Input{TLS: tls, Cluster: "c", Namespace: "ns", Node: "c-01234"}
		forced := Forced(in)
		for key := range forced {
			for _, spelling := range []string{key, fmt.Sprintf("%c%s", key[0]-'a'+'A', key[1:])} {
				in.User = map[string]string{spelling: "other"}
				got, err := Render(in)
				if err != nil {
					t.Errorf("Render(%q): %v", spelling, err)
				}
				if diff := cmp.Diff(Rendered{Settings: forced, Overridden: []string{key}}, got); diff != "" {
					t.Errorf("Render(%q): -want +got:\n%s", spelling, diff)
				}
			}
		}
	}
}
