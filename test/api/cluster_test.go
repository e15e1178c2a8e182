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
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The rules of a ValkeyCluster, as users read them.
const (
	ruleName        = `Invalid value: metadata.name must be usable as the name of a Service, which means lowercase letters, digits and hyphens, a letter first and no hyphen last, and must have at most 57 characters, since the hostname of each pod appends 6 to it`
	ruleTLS         = `spec: Invalid value: tls cannot be added to or removed from an existing cluster, only its secretRef may change`
	ruleAnnotations = `spec.podAnnotations: Invalid value: podAnnotations must not have a key that starts with valkey.gomomento.com/, which is reserved for the provider`
)

func TestCluster(t *testing.T) {
	a := strings.Repeat

	cases := map[string]struct {
		reason string
		obj    *unstructured.Unstructured
		want   []string
	}{
		"Smallest":             {"A cluster with only what is required is fine.", cluster(), nil},
		"NoConfig":             {"A config is required.", cluster(object{"configRef": nil}), []string{"spec.configRef: Required value"}},
		"UnknownConfig":        {"References are not checked at admission.", cluster(object{"configRef": "no-such-config"}), nil},
		"NoShards":             {"The number of shards is required.", cluster(object{"shards": nil}), []string{"spec.shards: Required value"}},
		"OneShard":             {"One shard is the least.", cluster(object{"shards": int64(1)}), nil},
		"ZeroShards":           {"A cluster without shards is none.", cluster(object{"shards": int64(0)}), []string{"spec.shards: Invalid value: 0: spec.shards in body should be greater than or equal to 1"}},
		"NoReplicas":           {"The number of replicas is required.", cluster(object{"replicasPerShard": nil}), []string{"spec.replicasPerShard: Required value"}},
		"ZeroReplicas":         {"A shard may have no replica.", cluster(object{"replicasPerShard": int64(0)}), nil},
		"NegativeReplicas":     {"There is no less than none.", cluster(object{"replicasPerShard": int64(-1)}), []string{"spec.replicasPerShard: Invalid value: -1: spec.replicasPerShard in body should be greater than or equal to 0"}},
		"TextShards":           {"The number of shards is a number.", cluster(object{"shards": "3"}), []string{`spec.shards: Invalid value: "string": spec.shards in body must be of type integer: "string"`}},
		"HugeShards":           {"A number that no reader could hold would hide all clusters from the provider.", cluster(object{"shards": int64(1) << 31}), []string{`Invalid value: "": Checked value must be of type integer with format int32 in spec.shards`}},
		"UnknownField":         {"A typing error is not lost.", cluster(object{"image": "valkey/valkey:latest"}), []string{`ValkeyCluster in version "v1alpha1" cannot be handled as a ValkeyCluster: strict decoding error: unknown field "spec.image"`}},
		"Placement":            {"All of a placement.", cluster(object{"placement": object{"zones": list{"a", "b"}, "zoneSpread": "required", "nodeSelector": object{"pool": "valkey"}}}), nil},
		"EmptyPlacement":       {"Nothing of a placement is required.", cluster(object{"placement": object{}}), nil},
		"BestEffort":           {"Best effort is a spread.", cluster(object{"placement": object{"zoneSpread": "bestEffort"}}), nil},
		"OtherSpread":          {"Nothing else is a spread.", cluster(object{"placement": object{"zoneSpread": "besteffort"}}), []string{`spec.placement.zoneSpread: Unsupported value: "besteffort": supported values: "bestEffort", "required"`}},
		"TLS":                  {"A cluster may be made with TLS.", cluster(object{"tls": object{"secretRef": "tls"}}), nil},
		"TLSWithoutSecret":     {"TLS needs its Secret.", cluster(object{"tls": object{}}), []string{"spec.tls.secretRef: Required value"}},
		"Annotations":          {"Any annotation is fine.", cluster(object{"podAnnotations": object{"example.com/a": "b", "c": ""}}), nil},
		"ManyAnnotations":      {"As many annotations as a pod can have are fine.", cluster(object{"podAnnotations": annotations(5000)}), nil},
		"ReservedAnnotation":   {"The prefix is reserved.", cluster(object{"podAnnotations": object{"a": "b", "valkey.gomomento.com/hash": "c"}}), []string{ruleAnnotations}},
		"ReservedBare":         {"The prefix alone is reserved.", cluster(object{"podAnnotations": object{"valkey.gomomento.com/": "c"}}), []string{ruleAnnotations}},
		"SimilarAnnotations":   {"Only the prefix is reserved.", cluster(object{"podAnnotations": object{"valkey.gomomento.com": "a", "valkey.gomomento.community/b": "c", "x.valkey.gomomento.com/d": "e"}}), nil},
		"ConnectionSecret":     {"Connection details may go to a Secret.", cluster(object{"writeConnectionSecretToRef": object{"name": "connection"}}), nil},
		"ConnectionNameless":   {"A reference to a Secret has its name.", cluster(object{"writeConnectionSecretToRef": object{}}), []string{"spec.writeConnectionSecretToRef.name: Required value"}},
		"ObserveOnly":          {"The provider may be told to observe only.", cluster(object{"managementPolicies": list{"Observe"}}), nil},
		"UnknownPolicy":        {"Nothing else is a policy.", cluster(object{"managementPolicies": list{"Fly"}}), []string{`spec.managementPolicies[0]: Unsupported value: "Fly": supported values: "Observe", "Create", "Update", "Delete", "LateInitialize", "*"`}},
		"ShortestName":         {"One letter is a name.", named(cluster(), "a"), nil},
		"DigitsAndHyphens":     {"Digits and hyphens are fine inside.", named(cluster(), "a-0--9"), nil},
		"LongestName":          {"57 characters are the most.", named(cluster(), a("a", 57)), nil},
		"NameWithoutHostname":  {"58 characters leave too few for a hostname.", named(cluster(), a("a", 58)), []string{ruleName}},
		"NameOfService":        {"63 characters name a Service but no pod of it.", named(cluster(), a("a", 63)), []string{ruleName}},
		"NameTooLong":          {"64 characters name no Service.", named(cluster(), a("a", 64)), []string{ruleName}},
		"NameWithDot":          {"A dot would make a domain of the name.", named(cluster(), "my.cluster"), []string{ruleName}},
		"NameWithLeadingDigit": {"A Service starts with a letter.", named(cluster(), "9lives"), []string{ruleName}},
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

// annotations returns n annotations.
func annotations(n int) object {
	out := object{}
	for i := range n {
		out[fmt.Sprintf("example.com/annotation-%d", i)] = "value"
	}
	return out
}

func TestClusterDefaults(t *testing.T) {
	cases := map[string]struct {
		reason string
		obj    *unstructured.Unstructured
		path   []string
		want   any
	}{
		"ManagementPolicies": {"The provider may do all unless told otherwise.", cluster(), []string{"spec", "managementPolicies"}, list{"*"}},
		"Access":             {"A key is readable and writable unless told otherwise.", cluster(object{"acl": list{binding()}}), []string{"spec", "acl"}, list{binding(object{"permissions": list{permission(object{"keys": list{with(key("app:*"), object{"access": "readwrite"})}})}})}},
		"ZoneSpread":         {"The provider's default for the spread is not written into the spec.", cluster(object{"placement": object{}}), []string{"spec", "placement"}, object{}},
		"ACL":                {"No list of users is made up.", cluster(), []string{"spec", "acl"}, nil},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, refused := create(tc.obj)
			if refused != nil {
				t.Fatal(refused)
			}
			value, _, err := unstructured.NestedFieldNoCopy(got.Object, tc.path...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, value); diff != "" {
				t.Errorf("\n%s\ncreate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestClusterUpdate(t *testing.T) {
	plain := cluster()
	tls := func(secret string) *unstructured.Unstructured {
		return cluster(object{"tls": object{"secretRef": secret}})
	}

	cases := map[string]struct {
		reason        string
		before, after *unstructured.Unstructured
		want          []string
	}{
		"AddTLS":            {"A running cluster cannot become a TLS cluster.", plain, tls("a"), []string{ruleTLS}},
		"RemoveTLS":         {"A TLS cluster stays one.", tls("a"), plain, []string{ruleTLS}},
		"ChangeSecret":      {"The Secret changes for rotation.", tls("a"), tls("b"), nil},
		"ChangeShards":      {"Topology changes.", plain, cluster(object{"shards": int64(5), "replicasPerShard": int64(0)}), nil},
		"ChangeConfig":      {"The choice from the menu changes.", plain, cluster(object{"configRef": "large"}), nil},
		"ChangeWithTLS":     {"All else of a TLS cluster changes.", tls("a"), cluster(object{"tls": object{"secretRef": "a"}, "shards": int64(5)}), nil},
		"AddPlacement":      {"Placement changes.", plain, cluster(object{"placement": object{"zones": list{"a"}}}), nil},
		"AddUsers":          {"Users change.", plain, cluster(object{"acl": users(2)}), nil},
		"ReserveAnnotation": {"Rules hold for updates as well.", plain, cluster(object{"podAnnotations": object{"valkey.gomomento.com/a": "b"}}), []string{ruleAnnotations}},
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

func TestClusterStatus(t *testing.T) {
	plain := cluster()
	spec := plain.Object["spec"].(object)
	tls := with(spec, object{"tls": object{"secretRef": "tls"}})
	policies := object{"managementPolicies": list{"*"}}

	cases := map[string]struct {
		reason string
		// writes of the status, one after the other.
		writes []object
		want   object
		err    []string
	}{
		"DefaultState": {
			reason: "A status without a state means Creating.",
			writes: []object{{"message": "hello"}},
			want:   object{"state": "Creating", "message": "hello"},
		},
		"Active":   {reason: "Active is a state.", writes: []object{{"state": "Active"}}, want: object{"state": "Active"}},
		"Updating": {reason: "Updating is reserved.", writes: []object{{"state": "Updating"}}, want: object{"state": "Updating"}},
		"Invalid":  {reason: "Invalid is a state.", writes: []object{{"state": "Invalid"}}, want: object{"state": "Invalid"}},
		"OtherState": {
			reason: "Nothing else is a state.",
			writes: []object{{"state": "Broken"}},
			err:    []string{`status.state: Unsupported value: "Broken": supported values: "Creating", "Active", "Updating", "Invalid"`},
		},
		"TargetSpec": {
			reason: "The target has the shape of the spec.",
			writes: []object{{"targetSpec": tls}},
			want:   object{"state": "Creating", "targetSpec": with(tls, policies)},
		},
		"TargetSpecGainsTLS": {
			reason: "What an update of the spec may not do is no rule for the target.",
			writes: []object{{"targetSpec": spec}, {"targetSpec": tls}},
			want:   object{"state": "Creating", "targetSpec": with(tls, policies)},
		},
		"TargetSpecLosesTLS": {
			reason: "What an update of the spec may not do is no rule for the target.",
			writes: []object{{"targetSpec": tls}, {"targetSpec": spec}},
			want:   object{"state": "Creating", "targetSpec": with(spec, policies)},
		},
		"TargetSpecCleared": {
			reason: "The target goes when it is reached.",
			writes: []object{{"targetSpec": spec}, {"state": "Active"}},
			want:   object{"state": "Active"},
		},
		"Everything": {
			reason: "No field of the status is lost.",
			writes: []object{{
				"state": "Active", "message": "m", "nodes": list{"my-cluster-0a1b2"}, "observedGeneration": int64(1), "lastHandledReconcileAt": "t",
				"conditions": list{object{"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "m", "observedGeneration": int64(1)}},
			}},
			want: object{
				"state": "Active", "message": "m", "nodes": list{"my-cluster-0a1b2"}, "observedGeneration": int64(1), "lastHandledReconcileAt": "t",
				"conditions": list{object{"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "m", "observedGeneration": int64(1)}},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := plain.DeepCopy()
			store(t, u)
			var refused []string
			for _, w := range tc.writes {
				u.Object["status"] = w
				refused = causes(kube.Status().Update(background, u))
			}
			if diff := cmp.Diff(tc.err, refused); diff != "" {
				t.Errorf("\n%s\nStatus().Update(...): -want, +got:\n%s", tc.reason, diff)
			}
			if refused != nil {
				return
			}
			if diff := cmp.Diff(tc.want, u.Object["status"]); diff != "" {
				t.Errorf("\n%s\nstatus: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStatusSubresource shows that who writes the spec cannot write the status,
// and the other way round.
func TestStatusSubresource(t *testing.T) {
	cases := map[string]struct {
		reason string
		write  func(u *unstructured.Unstructured) error
		shards int64
		state  string
	}{
		"Spec":   {"An update of the cluster leaves the status alone.", func(u *unstructured.Unstructured) error { return kube.Update(background, u) }, 5, "Creating"},
		"Status": {"An update of the status leaves the spec alone.", func(u *unstructured.Unstructured) error { return kube.Status().Update(background, u) }, 3, "Active"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := cluster()
			store(t, u)
			u.Object["status"] = object{"state": "Creating"}
			if err := kube.Status().Update(background, u); err != nil {
				t.Fatal(err)
			}

			u.Object["spec"].(object)["shards"] = int64(5)
			u.Object["status"] = object{"state": "Active"}
			if err := tc.write(u); err != nil {
				t.Fatal(err)
			}
			shards, _, _ := unstructured.NestedInt64(u.Object, "spec", "shards")
			state, _, _ := unstructured.NestedString(u.Object, "status", "state")
			if shards != tc.shards || state != tc.state {
				t.Errorf("\n%s\nwant %d shards and state %s, got %d and %s", tc.reason, tc.shards, tc.state, shards, state)
			}
		})
	}
}
