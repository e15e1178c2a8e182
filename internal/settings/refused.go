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

import "strings"

// Reasons for which a setting is refused. Each says what to do instead.
const (
	whyAuth    = "it would change how users or replicas log in; define users in spec.acl instead"
	whyProcess = "the server must stay in the foreground of its container and log to its output; leave it out"
	whyState   = "the provider decides where a member keeps its state; leave it out"
	whyAddress = "the provider decides where and under which name a member is reached; leave it out"
	whyTLS     = "TLS is configured by the cluster's spec.tls; leave it out"
	whyEscape  = "it would load code or configuration that the provider cannot check; build it into the image instead"
	whyCommand = "the provider needs every command under its own name; deny commands with a ValkeyRole instead"
	whyRole    = "the provider decides which member replicates which; leave it out"
	whyMode    = "a member is a cluster node and not a Sentinel; leave it out"
)

var refusedKeys = map[string]string{
	"requirepass":              whyAuth,
	"masterauth":               whyAuth,
	"masteruser":               whyAuth,
	"user":                     whyAuth,
	"include":                  whyEscape,
	"loadmodule":               whyEscape,
	"enable-module-command":    whyEscape,
	"enable-debug-command":     whyEscape,
	"enable-protected-configs": whyEscape,
	"rename-command":           whyCommand,
	"daemonize":                whyProcess,
	"supervised":               whyProcess,
	"pidfile":                  whyProcess,
	"logfile":                  whyProcess,
	"set-proc-title":           whyProcess,
	"proc-title-template":      whyProcess,
	"dbfilename":               whyState,
	"appenddirname":            whyState,
	"appendfilename":           whyState,
	"bind-source-addr":         whyAddress,
	"cluster-port":             whyAddress,
	"replicaof":                whyRole,
	"slaveof":                  whyRole,
	"sentinel":                 whyMode,
}

var refusedPrefixes = []struct{ prefix, why string }{
	{"cluster-announce-", whyAddress},
	{"syslog-", whyProcess},
	{"tls-", whyTLS},
	{"unixsocket", whyAddress},
}

// Refusal says whether a setting may not be set at all, and why. A key that
// Forced holds is overridden before anyone asks.
func Refusal(key string) (reason string, refused bool) {
	key = strings.ToLower(key)
	if why, ok := refusedKeys[key]; ok {
		return why, true
	}
	for _, r := range refusedPrefixes {
		if strings.HasPrefix(key, r.prefix) {
			return r.why, true
		}
	}
	return "", false
}
