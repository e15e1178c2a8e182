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

package valkeycluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

func TestComparePolicy(t *testing.T) {
	c := &v1alpha1.ValkeyCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "u"}, Spec: v1alpha1.ValkeyClusterSpec{Shards: 2}}
	policy := func(name string, selector map[string]string, types ...networkingv1.PolicyType) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
			Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: selector}, PolicyTypes: types},
		}
	}
	ours := manifest.NetworkPolicy(c)
	edited := manifest.NetworkPolicy(c)
	edited.Spec.Ingress = nil
	stranger := manifest.NetworkPolicy(c)
	stranger.OwnerReferences[0].UID = "another"
	elsewhere := policy("all", nil)
	elsewhere.Namespace = "other"
	unable := policy("exists", nil)
	unable.Spec.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: manifest.LabelShardIndex, Operator: metav1.LabelSelectorOpIn, Values: []string{"1", "7"}}}
	on, off := common.Options{NetworkPolicies: true}, common.Options{OldPolicies: true}
	const ingress, egress = networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	cases := map[string]struct {
		reason string
		flags  common.Options
		have   []client.Object
		want   []string
	}{
		"Off":        {"It is asked for by a flag.", off, nil, nil},
		"TakenAway":  {"Without the flag the one that was made goes.", off, []client.Object{ours, policy("deny", nil)}, []string{"delete NetworkPolicy c"}},
		"Stranger":   {"One of somebody else stays.", off, []client.Object{stranger}, nil},
		"Namesake":   {"Also if nobody owns it.", off, []client.Object{policy("c", nil)}, nil},
		"Unseen":     {"A provider that may not see policies leaves them alone.", common.Options{}, []client.Object{ours}, nil},
		"New":        {"Nobody has said anything.", on, nil, []string{"create NetworkPolicy c"}},
		"Same":       {"It is there.", on, []client.Object{ours}, nil},
		"Edited":     {"Somebody changed ours.", on, []client.Object{edited}, []string{"update NetworkPolicy c"}},
		"Stricter":   {"One that selects the cluster decides alone.", on, []client.Object{ours, policy("strict", map[string]string{manifest.LabelInstance: "c"}, ingress)}, []string{"delete NetworkPolicy c"}},
		"Everything": {"As does one for the whole namespace.", on, []client.Object{policy("deny", nil, ingress, egress)}, nil},
		"Untyped":    {"One without types is about ingress.", on, []client.Object{ours, policy("deny", nil)}, []string{"delete NetworkPolicy c"}},
		"OneShard":   {"One for a single shard decides too.", on, []client.Object{ours, unable}, []string{"delete NetworkPolicy c"}},
		"OtherPods":  {"One for other pods does not.", on, []client.Object{ours, policy("web", map[string]string{"app": "web"}, ingress)}, nil},
		"Neighbour":  {"Nor one for another cluster.", on, []client.Object{ours, policy("d", map[string]string{manifest.LabelInstance: "d"}, ingress)}, nil},
		"EgressOnly": {"Nor one for what goes out.", on, []client.Object{ours, policy("out", nil, egress)}, nil},
		"Elsewhere":  {"Nor one of another namespace.", on, []client.Object{ours, elsewhere}, nil},
		"SameName":   {"One that has the name of ours is somebody's.", on, []client.Object{policy("c", map[string]string{"app": "web"}, ingress)}, nil},
		"GoneAgain":  {"When the stricter one goes ours comes back.", on, []client.Object{policy("out", nil, egress)}, []string{"create NetworkPolicy c"}},
	}
	scheme := runtime.NewScheme()
	if err := networkingv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var objs []client.Object
			for _, o := range tc.have {
				objs = append(objs, o.DeepCopyObject().(client.Object))
			}
			e := &external{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).Build()}
			e.options = tc.flags
			got, err := e.comparePolicy(t.Context(), c, nil)
			if err != nil {
				t.Fatal(err)
			}
			var verbs []string
			for _, ch := range got {
				verbs = append(verbs, ch.verb+" "+describe(ch.obj))
			}
			if diff := cmp.Diff(tc.want, verbs); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
