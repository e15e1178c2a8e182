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

package valkey

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	idA = "68a5f2fa316499f3c16b707272ef51b7c8268822"
	idB = "9d17d62aaae03a26a5fe81b5ffe8b342317731ff"
)

func TestParseClusterNodes(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   []PeerNode
		fails  bool
	}{
		"Empty": {reason: "No lines are no nodes."},
		"PrimaryAndReplica": {
			reason: "The lines of a formed cluster are understood.",
			in: idA + " 10.0.0.1:6379@16379 myself,master - 0 1780000000000 1 connected 0-5460 10923\n" +
				idB + " 10.0.0.2:6379@16379 slave,nofailover " + idA + " 0 1780000000000 1 connected\n",
			want: []PeerNode{
				{ID: idA, IP: "10.0.0.1", Port: 6379, BusPort: 16379, Myself: true, Primary: true, ConfigEpoch: 1, LinkUp: true, Slots: []SlotRange{{0, 5460}, {10923, 10923}}},
				{ID: idB, IP: "10.0.0.2", Port: 6379, BusPort: 16379, NoFailover: true, PrimaryID: idA, ConfigEpoch: 1, LinkUp: true},
			},
		},
		"EmptyIP": {
			reason: "A server that nobody has met does not know its own address.",
			in:     idA + " :6379@16379 myself,master - 0 0 0 connected",
			want:   []PeerNode{{ID: idA, Port: 6379, BusPort: 16379, Myself: true, Primary: true, LinkUp: true}},
		},
		"NoAddress": {
			reason: "A node whose address is now another's has no address and no port.",
			in:     idA + " :0@0 master,fail,noaddr - 1780000000000 1780000000000 2 disconnected",
			want:   []PeerNode{{ID: idA, Primary: true, Fail: true, NoAddr: true, ConfigEpoch: 2}},
		},
		"IPv6": {
			reason: "The last colon separates the port, with and without brackets.",
			in: idA + " fd00::1:6379@16379 master - 0 0 1 connected\n" +
				idB + " [fd00::2]:6379@16379 master - 0 0 2 connected",
			want: []PeerNode{
				{ID: idA, IP: "fd00::1", Port: 6379, BusPort: 16379, Primary: true, ConfigEpoch: 1, LinkUp: true},
				{ID: idB, IP: "fd00::2", Port: 6379, BusPort: 16379, Primary: true, ConfigEpoch: 2, LinkUp: true},
			},
		},
		"HostnameAndAuxiliaryFields": {
			reason: "The host name may be followed by key=value fields, and be empty before them.",
			in: idA + " 10.0.0.1:6379@16379,pod-0.svc,shard-id=2c51,nodename=x master - 0 0 1 connected\n" +
				idB + " 10.0.0.2:6379@16379,,tls-port=0,shard-id=2c52 master - 0 0 1 connected\n" +
				idB + " 10.0.0.3:6379@16379,shard-id=2c53 master - 0 0 1 connected",
			want: []PeerNode{
				{ID: idA, IP: "10.0.0.1", Port: 6379, BusPort: 16379, Hostname: "pod-0.svc", Primary: true, ConfigEpoch: 1, LinkUp: true},
				{ID: idB, IP: "10.0.0.2", Port: 6379, BusPort: 16379, Primary: true, ConfigEpoch: 1, LinkUp: true},
				{ID: idB, IP: "10.0.0.3", Port: 6379, BusPort: 16379, Primary: true, ConfigEpoch: 1, LinkUp: true},
			},
		},
		"NoAddressButAName": {
			reason: "A node may have a name and no address.",
			in: idA + " :0@0,pod-0.svc,tls-port=0,shard-id=2c51 master,fail,noaddr - 1780000000000 1780000000000 2 disconnected\n" +
				idB + " :0@0,?,shard-id=2c52 myself,slave " + idA + " 0 0 2 connected",
			want: []PeerNode{
				{ID: idA, Hostname: "pod-0.svc", Primary: true, Fail: true, NoAddr: true, ConfigEpoch: 2},
				{ID: idB, Hostname: "?", Myself: true, PrimaryID: idA, ConfigEpoch: 2, LinkUp: true},
			},
		},
		"Loopback": {
			reason: "The shortest IPv6 address has nothing but colons.",
			in:     idA + " ::1:6379@16379 master - 0 0 1 connected\n" + idB + " [::1]:6379@16379,pod-0.svc master - 0 0 2 connected",
			want: []PeerNode{
				{ID: idA, IP: "::1", Port: 6379, BusPort: 16379, Primary: true, ConfigEpoch: 1, LinkUp: true},
				{ID: idB, IP: "::1", Port: 6379, BusPort: 16379, Hostname: "pod-0.svc", Primary: true, ConfigEpoch: 2, LinkUp: true},
			},
		},
		"Flags": {
			reason: "fail? and fail are different, handshake nodes have no role, and unknown flags are ignored.",
			in: idA + " 10.0.0.1:6379@16379 master,fail? - 1 1 1 disconnected\n" +
				idB + " 10.0.0.2:6379@16379 handshake - 1 0 0 connected\n" +
				idB + " 10.0.0.3:6379@16379 slave,shiny " + idA + " 1 0 0 connected\n" +
				idB + " 10.0.0.4:6379@16379 noflags - 1 0 0 disconnected",
			want: []PeerNode{
				{ID: idA, IP: "10.0.0.1", Port: 6379, BusPort: 16379, Primary: true, PFail: true, ConfigEpoch: 1},
				{ID: idB, IP: "10.0.0.2", Port: 6379, BusPort: 16379, Handshake: true, LinkUp: true},
				{ID: idB, IP: "10.0.0.3", Port: 6379, BusPort: 16379, PrimaryID: idA, LinkUp: true},
				{ID: idB, IP: "10.0.0.4", Port: 6379, BusPort: 16379},
			},
		},
		"OpenSlots": {
			reason: "Slots under way are listed with the other end, apart from those owned.",
			in:     idA + " 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-200 [150->-" + idB + "] [300-<-" + idB + "]",
			want: []PeerNode{{
				ID: idA, IP: "10.0.0.1", Port: 6379, BusPort: 16379, Myself: true, Primary: true, ConfigEpoch: 1, LinkUp: true,
				Slots: []SlotRange{{0, 200}}, Migrating: map[int]string{150: idB}, Importing: map[int]string{300: idB},
			}},
		},
		"BlankLines":      {reason: "Blank lines are passed over.", in: "\n\r\n  \n"},
		"Truncated":       {reason: "Half a line is an error.", in: idA + " 10.0.0.1:6379@16379 master", fails: true},
		"TruncatedMarker": {reason: "Half an open slot is an error.", in: idA + " :0@0 master - 0 0 1 connected [150->-", fails: true},
		"MarkerWithoutID": {reason: "An open slot names the other end.", in: idA + " :0@0 master - 0 0 1 connected [150->-]", fails: true},
		"NoBusPort":       {reason: "An address has a bus port.", in: idA + " 10.0.0.1:6379 master - 0 0 1 connected", fails: true},
		"NoPort":          {reason: "An address has a port.", in: idA + " 10.0.0.1@16379 master - 0 0 1 connected", fails: true},
		"BigPort":         {reason: "A port has 16 bits.", in: idA + " 10.0.0.1:70000@16379 master - 0 0 1 connected", fails: true},
		"BadEpoch":        {reason: "An epoch is a number.", in: idA + " 10.0.0.1:6379@16379 master - 0 0 x connected", fails: true},
		"BadSlot":         {reason: "A slot is below 16384.", in: idA + " 10.0.0.1:6379@16379 master - 0 0 1 connected 16384", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseClusterNodes(tc.in)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nParseClusterNodes(...): error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseClusterNodes(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Every prefix of a reply is either understood or an error, never a panic.
func TestParseClusterNodesTruncated(t *testing.T) {
	whole := idA + " [fd00::1]:6379@16379,pod-0.svc,shard-id=x myself,master - 0 0 1 connected 0-200 [150->-" + idB + "] [300-<-" + idB + "]\n"
	for i := range whole {
		got, err := ParseClusterNodes(whole[:i])
		if err == nil && i > 0 && len(got) != 1 {
			t.Errorf("ParseClusterNodes(%q): %d nodes and no error", whole[:i], len(got))
		}
	}
}

func TestPeerNodeHealthy(t *testing.T) {
	cases := map[string]struct {
		reason string
		node   PeerNode
		want   bool
	}{
		"Plain":     {reason: "A node without bad flags counts.", want: true},
		"Fail":      {reason: "A dead node does not count.", node: PeerNode{Fail: true}},
		"PFail":     {reason: "A node that may be dead does not count.", node: PeerNode{PFail: true}},
		"Handshake": {reason: "A node that has not answered yet does not count.", node: PeerNode{Handshake: true}},
		"NoAddr":    {reason: "A node without an address does not count.", node: PeerNode{NoAddr: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.node.Healthy(); got != tc.want {
				t.Errorf("%s\nHealthy(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func FuzzParseClusterNodes(f *testing.F) {
	f.Add(idA + " 10.0.0.1:6379@16379,pod-0.svc,shard-id=2c51 myself,master - 0 0 1 connected 0-200 [150->-" + idB + "] [300-<-" + idB + "]\n")
	f.Add(idA + " :0@0 master,fail,noaddr - 1 1 2 disconnected")
	f.Add("a ::1:1@2, fail? - 0 0 1 connected 1-")
	f.Fuzz(func(t *testing.T, in string) {
		nodes, err := ParseClusterNodes(in)
		if err != nil {
			return
		}
		for _, n := range nodes {
			checkRanges(t, n.Slots)
			for _, open := range []map[int]string{n.Migrating, n.Importing} {
				for slot, id := range open {
					if slot < 0 || slot >= SlotCount || id == "" {
						t.Fatalf("slot %d with node %q", slot, id)
					}
				}
			}
			if n.ID == "" || strings.ContainsAny(n.ID, " \n") {
				t.Fatalf("id %q", n.ID)
			}
		}
	})
}
