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
	"fmt"
	"strconv"
	"strings"
)

// A PeerNode is one line of CLUSTER NODES: what one server believes about one node, possibly itself.
type PeerNode struct {
	// ID is the node's id, 40 hexadecimal digits. During a handshake it is a random one.
	ID string
	// IP is the node's address. It is empty where the server does not know it: for itself before anybody met it, and for
	// nodes with NoAddr.
	IP string
	// Port is the client port, 0 where it is not known.
	Port int
	// BusPort is the port of the cluster bus, 0 where it is not known.
	BusPort int
	// Hostname is the announced host name, if any.
	Hostname string
	// Myself says that the line is about the server that answered.
	Myself bool
	// Primary says whether the node is a primary; otherwise it is a replica, or not known yet.
	Primary bool
	// Fail says that a majority of primaries holds the node for dead.
	Fail bool
	// PFail says that this server alone does not reach the node. Valkey writes it "fail?".
	PFail bool
	// Handshake says that the node has not answered a MEET yet.
	Handshake bool
	// NoAddr says that the node's address is not known any more, for example because another node answers there.
	NoAddr bool
	// NoFailover says that the replica will not try to become primary by itself.
	NoFailover bool
	// PrimaryID is the id of the primary that a replica follows, empty for primaries.
	PrimaryID string
	// ConfigEpoch is the node's config epoch, that of its primary for a replica.
	ConfigEpoch uint64
	// LinkUp says whether the server's bus connection to the node is up. It is true for Myself.
	LinkUp bool
	// Slots are the slots that the node owns, in order.
	Slots []SlotRange
	// Migrating maps the slots that the node is about to give away to the id of their next owner. A server only reports its own.
	Migrating map[int]string
	// Importing maps the slots that the node is about to take over to the id of their present owner. A server only reports its own.
	Importing map[int]string
}

// Healthy reports whether the node counts as a member: not failing, not in a handshake, and with an address.
func (n PeerNode) Healthy() bool { return !n.Fail && !n.PFail && !n.Handshake && !n.NoAddr }

// ParseClusterNodes parses the reply of CLUSTER NODES. Flags and address fields that it does not know are ignored; a line
// that is cut off or has no sense is an error, because half a view of a cluster is worse than none.
func ParseClusterNodes(reply string) ([]PeerNode, error) {
	var out []PeerNode
	for line := range strings.Lines(reply) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		n, err := parseNodeLine(line)
		if err != nil {
			return nil, fmt.Errorf("%w in CLUSTER NODES: %w in line %q", errBroken, err, strings.TrimSpace(line))
		}
		out = append(out, n)
	}
	return out, nil
}

// A line is: id ip:port@busport[,hostname][,key=value...] flags primary ping-sent pong-received config-epoch link-state
// slot... (Valkey 8.0 to 9.1).
func parseNodeLine(line string) (PeerNode, error) {
	f := strings.Fields(line)
	if len(f) < 8 {
		return PeerNode{}, fmt.Errorf("%d fields instead of 8", len(f))
	}
	n := PeerNode{ID: f[0], LinkUp: f[7] == "connected"}
	if err := n.parseAddress(f[1]); err != nil {
		return PeerNode{}, err
	}
	n.parseFlags(f[2])
	if f[3] != "-" {
		n.PrimaryID = f[3]
	}
	epoch, err := strconv.ParseUint(f[6], 10, 64)
	if err != nil {
		return PeerNode{}, fmt.Errorf("%q is not an epoch", f[6])
	}
	n.ConfigEpoch = epoch
	for _, s := range f[8:] {
		if err := n.parseSlots(s); err != nil {
			return PeerNode{}, err
		}
	}
	return n, nil
}

// parseAddress understands an empty IP (":6379@16379"), an unknown address (":0@0"), IPv6 with and without brackets, and
// announced host names.
func (n *PeerNode) parseAddress(s string) error {
	addr, rest, _ := strings.Cut(s, ",")
	for i, extra := range strings.Split(rest, ",") {
		// Only the first field can be the host name; key=value fields such as shard-id follow it or stand alone.
		if i == 0 && !strings.Contains(extra, "=") {
			n.Hostname = extra
		}
	}
	addr, bus, ok := strings.Cut(addr, "@")
	colon := strings.LastIndexByte(addr, ':')
	if !ok || colon < 0 {
		return fmt.Errorf("%q is not an address", s)
	}
	n.IP = strings.TrimSuffix(strings.TrimPrefix(addr[:colon], "["), "]")
	var err error
	if n.Port, err = parsePort(addr[colon+1:]); err != nil {
		return err
	}
	n.BusPort, err = parsePort(bus)
	return err
}

func (n *PeerNode) parseFlags(s string) {
	for flag := range strings.SplitSeq(s, ",") {
		switch flag {
		case "myself":
			n.Myself = true
		case "master", "primary":
			n.Primary = true
		case "fail":
			n.Fail = true
		case "fail?":
			n.PFail = true
		case "handshake":
			n.Handshake = true
		case "noaddr":
			n.NoAddr = true
		case "nofailover":
			n.NoFailover = true
		}
	}
}

// parseSlots understands "5", "0-5460", "[150->-id]" (migrating to id) and "[150-<-id]" (importing from id).
func (n *PeerNode) parseSlots(s string) error {
	if !strings.HasPrefix(s, "[") {
		r, err := parseSlotRange(s)
		if err != nil {
			return err
		}
		n.Slots = append(n.Slots, r)
		return nil
	}
	marker, closed := strings.CutSuffix(strings.TrimPrefix(s, "["), "]")
	dst := &n.Migrating
	slot, id, ok := strings.Cut(marker, "->-")
	if !ok {
		dst = &n.Importing
		slot, id, ok = strings.Cut(marker, "-<-")
	}
	if !ok || !closed || id == "" {
		return fmt.Errorf("%q is not an open slot", s)
	}
	number, err := parseSlot(slot)
	if err != nil {
		return err
	}
	if *dst == nil {
		*dst = map[int]string{}
	}
	(*dst)[number] = id
	return nil
}

func parsePort(s string) (int, error) {
	p, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not a port", s)
	}
	return int(p), nil
}
