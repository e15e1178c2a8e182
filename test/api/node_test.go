//go:build api

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

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestNode(t *testing.T) {
	cases := map[string]struct {
		reason string
		obj    *unstructured.Unstructured
		want   []string
	}{
		"Smallest":       {"A node with only what is required is fine.", node(), nil},
		"Everything":     {"A node with all fields is fine.", fullNode(), nil},
		"NoCluster":      {"A node has an owner.", node(object{"clusterName": nil}), []string{"spec.clusterName: Required value"}},
		"NoImage":        {"A node has an image.", node(object{"image": nil}), []string{"spec.image: Required value"}},
		"NoShard":        {"A node has a shard.", node(object{"shardIndex": nil}), []string{"spec.shardIndex: Required value"}},
		"NegativeShard":  {"Shards count from zero.", node(object{"shardIndex": int64(-1)}), []string{"spec.shardIndex: Invalid value: -1: spec.shardIndex in body should be greater than or equal to 0"}},
		"Joining":        {"Joining is a phase.", node(object{"lifecycle": "Joining"}), nil},
		"Active":         {"Active is a phase.", node(object{"lifecycle": "Active"}), nil},
		"Leaving":        {"Leaving is a phase.", node(object{"lifecycle": "Leaving"}), nil},
		"OtherLifecycle": {"Nothing else is a phase.", node(object{"lifecycle": "Gone"}), []string{`spec.lifecycle: Unsupported value: "Gone": supported values: "Active", "Joining", "Leaving"`}},
		"UnknownField":   {"A typing error is not lost.", node(object{"zone": "a"}), []string{`ValkeyNode in version "v1alpha1" cannot be handled as a ValkeyNode: strict decoding error: unknown field "spec.zone"`}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, got := create(tc.obj)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\ncreate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// fullNode returns a node with all fields and changes to its spec.
func fullNode(changes ...object) *unstructured.Unstructured {
	full := object{
		"cpu": "1", "memory": "2Gi", "tlsSecret": "tls", "lifecycle": "Joining",
		"valkeySettings": object{"maxmemory": "1500mb", "port": "0"},
		"placement":      object{"zones": list{"a", "b"}, "zoneSpread": "required", "nodeSelector": object{"pool": "valkey"}},
	}
	return node(append([]object{full}, changes...)...)
}

func TestNodeDefaults(t *testing.T) {
	u, refused := create(node())
	if refused != nil {
		t.Fatal(refused)
	}
	want := object{"clusterName": "my-cluster", "image": "valkey/valkey:9.0.0", "shardIndex": int64(0), "lifecycle": "Active"}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("\nOnly the phase has a default.\ncreate(...): -want, +got:\n%s", diff)
	}
}

func TestNodeUpdate(t *testing.T) {
	immutable := func(field string) []string {
		return []string{"spec: Invalid value: " + field + " is immutable: a member of a cluster is changed by replacing it"}
	}
	placement := func(changes object) object {
		return object{"placement": with(object{"zones": list{"a", "b"}, "zoneSpread": "required", "nodeSelector": object{"pool": "valkey"}}, changes)}
	}
	full, small := fullNode(), node()

	cases := map[string]struct {
		reason        string
		before, after *unstructured.Unstructured
		want          []string
	}{
		"Lifecycle":        {"The phase is what changes.", full, fullNode(object{"lifecycle": "Leaving"}), nil},
		"LifecycleDefault": {"The phase may be left to its default.", full, fullNode(object{"lifecycle": nil}), nil},
		"LifecycleOfSmall": {"The phase changes without optional fields too.", small, node(object{"lifecycle": "Leaving"}), nil},
		"Cluster":          {"A node stays with its cluster.", full, fullNode(object{"clusterName": "other"}), immutable("clusterName")},
		"Image":            {"An image is replaced with its node.", full, fullNode(object{"image": "valkey/valkey:9.0.1"}), immutable("image")},
		"Shard":            {"A node stays in its shard.", full, fullNode(object{"shardIndex": int64(1)}), immutable("shardIndex")},
		"CPU":              {"CPU is replaced with its node.", full, fullNode(object{"cpu": "2"}), immutable("cpu")},
		"RemoveCPU":        {"CPU does not go.", full, fullNode(object{"cpu": nil}), immutable("cpu")},
		"AddCPU":           {"CPU does not come.", small, node(object{"cpu": "1"}), immutable("cpu")},
		"Memory":           {"Memory is replaced with its node.", full, fullNode(object{"memory": "4Gi"}), immutable("memory")},
		"RemoveMemory":     {"Memory does not go.", full, fullNode(object{"memory": nil}), immutable("memory")},
		"AddMemory":        {"Memory does not come.", small, node(object{"memory": "2Gi"}), immutable("memory")},
		"Settings":         {"A setting is replaced with its node.", full, fullNode(object{"valkeySettings": object{"maxmemory": "1gb", "port": "0"}}), immutable("valkeySettings")},
		"AddSetting":       {"A setting does not come.", full, fullNode(object{"valkeySettings": object{"maxmemory": "1500mb", "port": "0", "a": "b"}}), immutable("valkeySettings")},
		"RemoveSetting":    {"A setting does not go.", full, fullNode(object{"valkeySettings": object{"maxmemory": "1500mb"}}), immutable("valkeySettings")},
		"RemoveSettings":   {"The settings do not go.", full, fullNode(object{"valkeySettings": nil}), immutable("valkeySettings")},
		"AddSettings":      {"The settings do not come.", small, node(object{"valkeySettings": object{"a": "b"}}), immutable("valkeySettings")},
		"TLS":              {"The Secret is replaced with its node.", full, fullNode(object{"tlsSecret": "other"}), immutable("tlsSecret")},
		"RemoveTLS":        {"The Secret does not go.", full, fullNode(object{"tlsSecret": nil}), immutable("tlsSecret")},
		"AddTLS":           {"The Secret does not come.", small, node(object{"tlsSecret": "tls"}), immutable("tlsSecret")},
		"Zones":            {"Zones are replaced with their node.", full, fullNode(placement(object{"zones": list{"a"}})), immutable("placement")},
		"ZoneSpread":       {"The spread is replaced with its node.", full, fullNode(placement(object{"zoneSpread": "bestEffort"})), immutable("placement")},
		"NodeSelector":     {"The node selector is replaced with its node.", full, fullNode(placement(object{"nodeSelector": object{"pool": "other"}})), immutable("placement")},
		"RemoveZones":      {"A part of the placement does not go.", full, fullNode(placement(object{"zones": nil})), immutable("placement")},
		"RemovePlacement":  {"The placement does not go.", full, fullNode(object{"placement": nil}), immutable("placement")},
		"AddPlacement":     {"The placement does not come.", small, node(object{"placement": object{"zones": list{"a"}}}), immutable("placement")},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := update(t, tc.before, tc.after)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nupdate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNodeStatus(t *testing.T) {
	want := object{
		"nodeID": "0123456789abcdef0123456789abcdef01234567", "role": "primary", "roleSince": "2026-01-01T00:00:00Z",
		"podIP": "fd00::1", "podUID": "7f9b2c1e", "message": "m", "observedGeneration": int64(1), "lastHandledReconcileAt": "t",
		"conditions": list{object{"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z"}},
	}
	u := node()
	store(t, u)
	u.Object["status"] = want
	if err := kube.Status().Update(background, u); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, u.Object["status"]); diff != "" {
		t.Errorf("\nNo field of the status is lost.\nstatus: -want, +got:\n%s", diff)
	}
}
