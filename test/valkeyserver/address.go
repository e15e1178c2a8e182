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
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

var addresses atomic.Uint32

// nextIP returns a loopback address on which nobody uses Valkey's ports. Test binaries that run at the same time start
// from different addresses, by their process id.
func nextIP(t testing.TB) string {
	t.Helper()
	const hosts = 250
	pid := os.Getpid()
	for range 2 * hosts {
		host := addresses.Add(1)%hosts + 1
		ip := fmt.Sprintf("127.%d.%d.%d", 2+pid/hosts%hosts, pid%hosts, host)
		if free(ip, Port) && free(ip, Port+10000) {
			return ip
		}
	}
	t.Fatal("no loopback address is free")
	return ""
}

func free(ip string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
