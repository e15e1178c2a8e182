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

package topology

// A rule adds to the plan what it wants done now.
type rule struct {
	name  string
	apply func(*world)
}

// rules in the order of their priority. The order of this list is the
// documented order in which a cluster is worked on.
func rules() []rule {
	return []rule{
		{"foreign nodes are reported", (*world).reportForeign},
		{"open slots are closed or continued", (*world).finishOpenSlots},
		{"timers are those of the cluster's phase", (*world).tune},
		{"every shard has a primary", (*world).healPrimaries},
		{"true claims prevail", (*world).settleClaims},
		{"every slot is assigned", (*world).assignSlots},
		{"every shard has its members", (*world).createMembers},
		{"members know each other", (*world).meet},
		{"members follow their primary", (*world).replicate},
		{"members that do not sync are reported", (*world).reportStalls},
		{"a shard has one primary", (*world).reunite},
		{"slots are spread evenly over the wanted shards", (*world).balance},
		{"primaries that go hand over", (*world).handOver},
		{"surplus members are chosen", (*world).chooseSurplus},
		{"members that go are retired", (*world).retire},
		{"members that are gone are forgotten", (*world).forgetGhosts},
		{"phases are recorded", (*world).recordPhases},
		{"primaries are spread over zones and hosts", (*world).balancePrimaries},
	}
}

// Next decides what to do now. The same goal and snapshot give the same plan.
func Next(g Goal, s Snapshot) Plan {
	w := newWorld(g, s)
	for _, r := range rules() {
		r.apply(w)
	}
	w.summarise()
	return *w.plan
}
