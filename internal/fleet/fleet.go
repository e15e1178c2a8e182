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

// Package fleet decides which clusters may replace their members now, where more
// want to than may at once. It is pure: what is known of all clusters goes in, who
// has a place and who waits in which order comes out.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A Cluster is what counts of a ValkeyCluster for its place.
type Cluster struct {
	Namespace string
	Name      string
	// Created is when the ValkeyCluster was made.
	Created time.Time
	// Priority of its roll, the highest first.
	Priority int
	// Wants means that members of it have to be replaced.
	Wants bool
	// Holds means that it has a place.
	Holds bool
	// Stalled means that it gave its place up for the change that it still wants.
	Stalled bool
	// StalledAt is when it did so.
	StalledAt time.Time
	// Absent means that a place was kept for it and that it did not come for it.
	Absent bool
}

// A Line is who rolls and who waits for that.
type Line struct {
	// Rolling have a place.
	Rolling []Cluster
	// Waiting want one, the next one first.
	Waiting []Cluster
	// Free is the number of places that nobody has.
	Free int
}

// Form lines clusters up for so many places. Whoever has a place keeps it, even
// where that are more than there should be: a roll that has begun is not broken off.
func Form(places int, clusters []Cluster) Line {
	l := Line{}
	for _, c := range clusters {
		switch {
		case c.Holds:
			l.Rolling = append(l.Rolling, c)
		case c.Wants:
			l.Waiting = append(l.Waiting, c)
		}
	}
	l.Free = max(0, places-len(l.Rolling))
	slices.SortFunc(l.Rolling, order)
	slices.SortFunc(l.Waiting, order)
	return l
}

// order sorts clusters by whose turn it is. One that stalled has had its turn, so
// that those that have not come first, however important it is. Those that stalled
// take turns, so that one that stalls for ever does not keep out another that would
// get on now.
func order(a, b Cluster) int {
	return cmp.Or(
		compare(a.Stalled, b.Stalled),
		a.StalledAt.Compare(b.StalledAt),
		cmp.Compare(b.Priority, a.Priority),
		a.Created.Compare(b.Created),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// compare puts what is false first.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Next returns those for whom there is a place now. A place that nobody comes for
// goes to the one after.
func (l Line) Next() []Cluster {
	present := slices.DeleteFunc(slices.Clone(l.Waiting), func(c Cluster) bool { return c.Absent })
	return present[:min(l.Free, len(present))]
}

// Crowded tells whether somebody waits although no place is free.
func (l Line) Crowded() bool { return l.Free == 0 && len(l.Waiting) > 0 }

// Before returns how many wait that come before a cluster, and false if it does not
// wait. Those for whom there is a place now do not wait any more.
func (l Line) Before(namespace, name string) (int, bool) {
	if l.IsNext(namespace, name) {
		return 0, true
	}
	i := slices.IndexFunc(l.Waiting, func(c Cluster) bool { return c.is(namespace, name) })
	if i < 0 {
		return 0, false
	}
	n := 0
	for _, c := range l.Waiting[:i] {
		if !l.IsNext(c.Namespace, c.Name) {
			n++
		}
	}
	return n, true
}

// Now returns those that roll, and those that begin to.
func (l Line) Now() []Cluster { return slices.Concat(l.Rolling, l.Next()) }

// IsNext tells whether there is a place now for a cluster.
func (l Line) IsNext(namespace, name string) bool {
	return slices.ContainsFunc(l.Next(), func(c Cluster) bool { return c.is(namespace, name) })
}

func (c Cluster) is(namespace, name string) bool { return c.Namespace == namespace && c.Name == name }

// Priority reads the priority of a cluster's roll as its author wrote it: none is 0.
func Priority(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not an integer", text)
	}
	return n, nil
}
