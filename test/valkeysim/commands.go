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

package valkeysim

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// A command is what a server does for a client, with the words behind the command's name.
type command func(c *conn, args []string) any

// commands by name, those with subcommands by both names. They are filled in by init, since EXEC refers to them.
var commands map[string]command

func init() {
	commands = map[string]command{
		"AUTH":             (*conn).auth,
		"HELLO":            (*conn).hello,
		"PING":             func(*conn, []string) any { return simple("PONG") },
		"INFO":             func(c *conn, _ []string) any { return bulk(c.server.info(time.Now())) },
		"MULTI":            (*conn).multi,
		"EXEC":             (*conn).exec,
		"ACL LIST":         func(c *conn, _ []string) any { return bulks(c.server.users.lines()) },
		"ACL SETUSER":      (*conn).setUser,
		"ACL DELUSER":      (*conn).delUser,
		"CLIENT KILL":      (*conn).kill,
		"CONFIG GET":       (*conn).configGet,
		"CONFIG SET":       (*conn).configSet,
		"FUNCTION DUMP":    func(*conn, []string) any { return bulk(emptyDump) },
		"FUNCTION RESTORE": func(*conn, []string) any { return ok },

		"CLUSTER INFO":              func(c *conn, _ []string) any { return bulk(c.server.clusterInfo(time.Now())) },
		"CLUSTER NODES":             func(c *conn, _ []string) any { return bulk(c.server.nodes(time.Now())) },
		"CLUSTER MYID":              func(c *conn, _ []string) any { return bulk(c.server.id) },
		"CLUSTER GETSLOTMIGRATIONS": func(*conn, []string) any { return list{} },
		"CLUSTER MEET":              (*conn).meet,
		"CLUSTER FORGET":            (*conn).forget,
		"CLUSTER REPLICATE":         (*conn).replicate,
		"CLUSTER ADDSLOTSRANGE":     (*conn).addSlots,
		"CLUSTER SETSLOT":           (*conn).setSlot,
		"CLUSTER SET-CONFIG-EPOCH":  (*conn).setEpoch,
		"CLUSTER BUMPEPOCH":         (*conn).bumpEpoch,
		"CLUSTER FAILOVER":          (*conn).failover,
	}
}

// emptyDump is a dump of no functions: a version and a checksum.
const emptyDump = "\x50\x00\x00\x00\x00\x00\x00\x00\x00\x00"

const syntaxError = failure("ERR syntax error")

// do carries out a command of a user who may.
func (c *conn) do(name string, args []string) any {
	run, known := commands[name]
	if !known && len(args) > 0 {
		name += " " + strings.ToUpper(args[0])
		args = args[1:]
		run, known = commands[name]
	}
	switch {
	case name != "AUTH" && name != "HELLO" && c.user == "" && !c.server.users.open():
		return failure("NOAUTH Authentication required.")
	case !known:
		return failure(fmt.Sprintf("ERR unknown command '%s'", name))
	}
	return run(c, args)
}

func (c *conn) auth(args []string) any {
	user, password := defaultUser, ""
	switch len(args) {
	case 1:
		password = args[0]
	case 2:
		user, password = args[0], args[1]
	default:
		return syntaxError
	}
	if !c.server.users.admits(user, password) {
		return failure("WRONGPASS invalid username-password pair or user is disabled.")
	}
	c.user = user
	return ok
}

func (c *conn) hello(args []string) any {
	if len(args) > 0 && args[0] != "2" {
		return failure("NOPROTO unsupported protocol version")
	}
	return list{bulk("server"), bulk("valkey"), bulk("version"), bulk(c.server.version), bulk("proto"), number(2), bulk("mode"), bulk("cluster")}
}

func (c *conn) multi([]string) any {
	c.queue = [][]string{}
	return ok
}

func (c *conn) exec([]string) any {
	if c.queue == nil {
		return failure("ERR EXEC without MULTI")
	}
	queue := c.queue
	c.queue = nil
	out := list{}
	for _, words := range queue {
		out = append(out, c.do(strings.ToUpper(words[0]), words[1:]))
	}
	return out
}

func (c *conn) setUser(args []string) any {
	if len(args) == 0 {
		return syntaxError
	}
	c.server.users.set(args[0], args[1:])
	return ok
}

func (c *conn) delUser(args []string) any {
	n := 0
	for _, name := range args {
		if _, has := c.server.users[name]; !has {
			continue
		}
		delete(c.server.users, name)
		c.closeAll(name)
		n++
	}
	return number(n)
}

// kill answers CLIENT KILL USER name SKIPME yes, and nothing else.
func (c *conn) kill(args []string) any {
	if len(args) != 4 || args[0] != "USER" || args[2] != "SKIPME" {
		return syntaxError
	}
	return number(c.closeAll(args[1]))
}

// closeAll ends all connections of a user but this one.
func (c *conn) closeAll(user string) int {
	n := 0
	for o := range c.server.conns {
		if o != c && o.user == user {
			_ = o.socket.Close()
			n++
		}
	}
	return n
}

func (c *conn) configGet(args []string) any {
	out := list{}
	for _, name := range args {
		if v, has := c.server.settings[name]; has {
			out = append(out, bulk(name), bulk(v))
		}
	}
	return out
}

func (c *conn) configSet(args []string) any {
	if len(args) == 0 || len(args)%2 != 0 {
		return syntaxError
	}
	for pair := range slices.Chunk(args, 2) {
		c.server.settings[pair[0]] = pair[1]
	}
	return ok
}

func (c *conn) meet(args []string) any {
	if len(args) < 2 {
		return syntaxError
	}
	ip, err := netip.ParseAddr(args[0])
	if err != nil {
		return failure("ERR Invalid node address specified: " + args[0])
	}
	// Nobody may be there: nothing comes of it then.
	if o := c.sim.servers[ip]; o != nil {
		c.server.cluster.meet(o.cluster)
	}
	return ok
}

func (c *conn) forget(args []string) any {
	if len(args) != 1 {
		return syntaxError
	}
	cl := c.server.cluster
	m := cl.members[args[0]]
	switch {
	case m == nil && cl.forgotten[args[0]]:
		return ok
	case m == nil:
		return failure("ERR Unknown node " + args[0])
	case m == c.server:
		return failure("ERR I tried hard but I can't forget myself...")
	case m == c.server.primary:
		return failure("ERR Can't forget my master!")
	case m.runs():
		// Gossip of the others brings it back.
		return ok
	}
	delete(cl.members, m.id)
	cl.forgotten[m.id] = true
	return ok
}

func (c *conn) replicate(args []string) any {
	if len(args) != 1 {
		return syntaxError
	}
	p := c.server.cluster.members[args[0]]
	switch {
	case p == nil:
		return failure("ERR Unknown node " + args[0])
	case p == c.server:
		return failure("ERR Can't replicate myself")
	case p.primary != nil:
		return failure("ERR I can only replicate a master, not a replica.")
	case c.server.slots.Len() > 0:
		return failure("ERR To set a master the node must be empty and without assigned slots.")
	}
	c.server.replicates(p, syncTime)
	return ok
}

func (c *conn) addSlots(args []string) any {
	var add topology.SlotSet
	for pair := range slices.Chunk(args, 2) {
		if len(pair) != 2 {
			return syntaxError
		}
		start, err1 := strconv.Atoi(pair[0])
		end, err2 := strconv.Atoi(pair[1])
		if err1 != nil || err2 != nil || start < 0 || end < start || end >= topology.SlotCount {
			return failure("ERR Invalid or out of range slot")
		}
		add.AddRanges([]topology.SlotRange{{Start: start, End: end}})
	}
	for _, m := range c.server.cluster.members {
		if m.slots.Intersects(&add) {
			return failure("ERR Slot is already busy")
		}
	}
	c.server.slots.Union(&add)
	return ok
}

func (c *conn) setSlot(args []string) any {
	if len(args) < 2 {
		return syntaxError
	}
	slot, err := strconv.Atoi(args[0])
	if err != nil || slot < 0 || slot >= topology.SlotCount {
		return failure("ERR Invalid or out of range slot")
	}
	switch {
	case strings.EqualFold(args[1], "STABLE"):
		return ok
	case strings.EqualFold(args[1], "NODE") && len(args) > 2:
		to := c.server.cluster.members[args[2]]
		if to == nil {
			return failure("ERR Unknown node " + args[2])
		}
		c.server.cluster.give(slot, to)
		return ok
	}
	return syntaxError
}

func (c *conn) setEpoch(args []string) any {
	if len(args) != 1 {
		return syntaxError
	}
	n, err := strconv.ParseUint(args[0], 10, 64)
	switch {
	case err != nil:
		return failure("ERR Invalid config epoch specified: " + args[0])
	case len(c.server.cluster.members) > 1:
		return failure("ERR The user can assign a config epoch only when the node does not know any other node.")
	case c.server.epoch != 0:
		return failure("ERR Node config epoch is already non-zero")
	}
	c.server.epoch = n
	c.server.cluster.epoch = max(c.server.cluster.epoch, n)
	return ok
}

func (c *conn) bumpEpoch([]string) any {
	c.server.cluster.bump(c.server)
	return simple("BUMPED " + strconv.FormatUint(c.server.epoch, 10))
}

func (c *conn) failover(args []string) any {
	mode := ""
	if len(args) > 0 {
		mode = strings.ToUpper(args[0])
	}
	now := time.Now()
	c.sim.onOrder(Order{At: now, Server: c.server.ip, Mode: mode})
	_, size, alive, _ := c.server.cluster.health(now)
	switch {
	case c.server.primary == nil:
		return failure("ERR You should send CLUSTER FAILOVER to a replica")
	case mode == "" && !c.server.linked(now):
		return failure("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
	case mode == "FORCE" && 2*alive <= size:
		// No majority grants it.
		return ok
	}
	c.server.cluster.promote(c.server)
	return ok
}
