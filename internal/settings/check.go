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
	"math/big"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// MaxClientsLimit bounds maxclients. A server blocks for seconds while it probes
// whether it can have a huge number of file descriptors.
const MaxClientsLimit = 1_000_000

// memoryKeys are the directives that take an amount of memory, with the least
// that the server accepts.
var memoryKeys = map[string]int64{
	"active-defrag-ignore-bytes": 1,
	"auto-aof-rewrite-min-size":  0,
	"client-query-buffer-limit":  1 << 20,
	"cluster-link-sendbuf-limit": 0,
	"maxmemory":                  0,
	"maxmemory-clients":          0,
	"proto-max-bulk-len":         1 << 20,
	"repl-backlog-size":          1,
}

// units are Valkey's own, in which k is 1000 and kb 1024.
var units = map[string]int64{
	"":   1,
	"b":  1,
	"k":  1000,
	"kb": 1 << 10,
	"m":  1000 * 1000,
	"mb": 1 << 20,
	"g":  1000 * 1000 * 1000,
	"gb": 1 << 30,
}

// foreignUnits are other ways to write an amount, which a server refuses.
var foreignUnits = map[string]int64{
	"ki": 1 << 10, "kib": 1 << 10,
	"mi": 1 << 20, "mib": 1 << 20,
	"gi": 1 << 30, "gib": 1 << 30,
	"t": 1000 * 1000 * 1000 * 1000, "tb": 1 << 40, "ti": 1 << 40, "tib": 1 << 40,
}

// A Problem is a setting that a server would refuse, or, as a warning, one that
// it accepts and that is unlikely to do what was meant.
type Problem struct {
	Key, Value string

	// Message says what is wrong and what to write instead.
	Message string

	// Warning is whether the setting can be run nevertheless.
	Warning bool
}

// Check finds values that are visibly wrong, sorted by key. It knows only the
// common mistakes; the server has the last word.
func Check(settings map[string]string) []Problem {
	var out []Problem
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		value := settings[key]
		msg := ""
		if _, ok := memoryKeys[key]; ok {
			msg = checkMemory(key, value)
		}
		switch key {
		case "maxclients":
			msg = checkMaxClients(value)
		case "availability-zone":
			msg = checkZone(value)
		}
		if msg != "" {
			out = append(out, Problem{Key: key, Value: value, Message: fmt.Sprintf("setting %q has the value %q: %s", key, value, msg)})
		}
	}
	return out
}

// CheckLimit warns when maxmemory lets a server grow past the memory limit of
// its container, where the kernel would kill it before it evicts anything.
func CheckLimit(settings map[string]string, limit string) []Problem {
	value, ok := settings["maxmemory"]
	if !ok || limit == "" {
		return nil
	}
	bytes, ok := parseMemory(value)
	q, err := resource.ParseQuantity(limit)
	if !ok || err != nil || bytes.Cmp(big.NewInt(q.Value())) <= 0 {
		return nil
	}
	return []Problem{{
		Key:     "maxmemory",
		Value:   value,
		Message: fmt.Sprintf("setting \"maxmemory\" has the value %q, which is more than the memory limit of %s: the server is killed before it evicts keys", value, limit),
		Warning: true,
	}}
}

func checkMemory(key, value string) string {
	if key == "maxmemory-clients" && isPercent(value) {
		return ""
	}
	bytes, ok := parseMemory(value)
	if !ok {
		return "Valkey takes a whole number with one of the units b, k, kb, m, mb, g, gb" + instead(value)
	}
	if least := memoryKeys[key]; bytes.Cmp(big.NewInt(least)) < 0 {
		return fmt.Sprintf("the least that Valkey takes is %s", amount(big.NewInt(least)))
	}
	return ""
}

func checkMaxClients(value string) string {
	n, err := strconv.ParseUint(value, 10, 64)
	switch {
	case err != nil || n == 0:
		return fmt.Sprintf("write a whole number from 1 to %d", MaxClientsLimit)
	case n > MaxClientsLimit:
		return fmt.Sprintf("a server blocks while it tries so many, write at most %d", MaxClientsLimit)
	}
	return ""
}

// checkZone keeps out what has a meaning in nodes.conf. Valkey 9 writes the zone
// there as it is and stops at the next start if it cannot read it back.
func checkZone(value string) string {
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'\\,=", r) }
	if strings.ContainsFunc(value, bad) {
		return "use letters, digits, dots, hyphens and underscores only"
	}
	return ""
}

func isPercent(value string) bool {
	digits, ok := strings.CutSuffix(value, "%")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(digits, 10, 31)
	return err == nil
}

// parseMemory reads an amount the way a server does.
func parseMemory(value string) (*big.Int, bool) {
	digits, unit := cutNumber(value, "0123456789")
	factor, ok := units[strings.ToLower(unit)]
	if !ok {
		return nil, false
	}
	n := new(big.Int)
	if digits != "" {
		n.SetString(digits, 10)
	}
	return n.Mul(n, big.NewInt(factor)), true
}

// instead proposes what to write for an amount in another notation.
func instead(value string) string {
	number, unit := cutNumber(strings.TrimSpace(value), "0123456789.")
	unit = strings.ToLower(strings.TrimSpace(unit))
	factor, ok := units[unit]
	if !ok {
		factor, ok = foreignUnits[unit]
	}
	n, valid := new(big.Rat).SetString(number)
	if !ok || !valid {
		return ""
	}
	n.Mul(n, new(big.Rat).SetInt64(factor))
	if !n.IsInt() {
		return ""
	}
	return ", write " + amount(n.Num())
}

// amount writes a number of bytes in the largest unit that divides it.
func amount(bytes *big.Int) string {
	for _, unit := range []string{"gb", "g", "mb", "m", "kb", "k"} {
		quo, rem := new(big.Int).QuoRem(bytes, big.NewInt(units[unit]), new(big.Int))
		if rem.Sign() == 0 && quo.Sign() > 0 {
			return quo.String() + unit
		}
	}
	return bytes.String()
}

func cutNumber(value, digits string) (number, rest string) {
	rest = strings.TrimLeft(value, digits)
	return value[:len(value)-len(rest)], rest
}
