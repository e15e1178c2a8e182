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

package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	descState       = describe("state", "The state of the ValkeyCluster: 1 for the one it has, 0 for the others.", "state")
	descConverged   = describe("converged", "Whether the cluster is as its spec asks, with nothing left to do.")
	descServing     = describe("serving", "Whether live, healthy primaries hold all slots.")
	descMembers     = describe("members", "Members by role and lifecycle.", "role", "lifecycle")
	descWanted      = describe("members_wanted", "Members that the spec asks for.")
	descAnswering   = describe("members_answering", "Members whose server answered the provider.")
	descOutdated    = describe("members_outdated", "Members that have to be replaced, since image, size, settings or placement changed.")
	descWaiting     = describe("waiting_to_roll", "Whether the cluster waits with the replacement of members, since too many other clusters replace theirs.")
	descAssigned    = describe("slots_assigned", "Slots that belong to a primary that answers, of 16384.")
	descMoving      = describe("slots_moving", "Slots that have to move to another shard.")
	descKeys        = describe("keys", "Keys in all primaries.")
	descUsed        = describe("memory_used_bytes", "Memory in use by all primaries.")
	descMax         = describe("memory_max_bytes", "The sum of maxmemory of all primaries, 0 without a limit.")
	descCertificate = describe("certificate_expiry_timestamp_seconds", "End of the serving certificate, in seconds since 1970. Only with TLS.")
	descFailovers   = describe("failovers_total", "Replicas that became primary, by cause.", "cause")
	descErrors      = describe("command_errors_total", "Commands of the provider to the cluster's servers that failed, by kind.", "kind")
)

var descriptions = []*prometheus.Desc{
	descState, descConverged, descServing, descMembers, descWanted, descAnswering, descOutdated, descWaiting, descAssigned, descMoving,
	descKeys, descUsed, descMax, descCertificate, descFailovers, descErrors,
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("valkey_cluster_"+name, help, append([]string{"namespace", "cluster"}, labels...), nil)
}
