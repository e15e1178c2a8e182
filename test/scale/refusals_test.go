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
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// nftVar names the variable with the path of nft.
const nftVar = "VALKEY_TEST_NFT"

// Refusals have connections to some addresses refused, as the kernel does where
// nobody listens: the one listener of all servers would accept them.
type refusals struct{ nft string }

func newRefusals(t *testing.T) *refusals {
	t.Helper()
	r := &refusals{nft: os.Getenv(nftVar)}
	if r.nft == "" {
		t.Fatalf("%s is not set: this test needs the path of nft, which make sets", nftVar)
	}
	err := r.run(fmt.Sprintf(`
		table ip sim {
			set gone { type ipv4_addr; }
			chain input {
				type filter hook input priority 0;
				ip daddr @gone tcp dport %d tcp flags & (syn | ack) == syn reject with tcp reset
			}
		}`, manifest.Port))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// add has connections to an address refused from now on.
func (r *refusals) add(ip netip.Addr) error {
	return r.run(fmt.Sprintf("add element ip sim gone { %s }", ip))
}

func (r *refusals) run(rules string) error {
	cmd := exec.Command(r.nft, "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}
