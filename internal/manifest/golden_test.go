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

package manifest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

func cluster() *v1alpha1.ValkeyCluster {
	return &v1alpha1.ValkeyCluster{ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "app", UID: "cluster-uid"}}
}

func node(edit func(*v1alpha1.ValkeyNode)) *v1alpha1.ValkeyNode {
	n := Node(cluster(), "cache-01234", 2, NodeTemplate{Image: "valkey/valkey:9.1.2", Settings: map[string]string{"port": "6379"}})
	n.UID = "node-uid"
	if edit != nil {
		edit(n)
	}
	return n
}

func place(p v1alpha1.Placement) func(*v1alpha1.ValkeyNode) {
	return func(n *v1alpha1.ValkeyNode) { n.Spec.Placement = &p }
}

// TestGolden compares every object with its file. The file shows a reader what a
// cluster consists of.
func TestGolden(t *testing.T) {
	zones := []string{"b", "a", "b"}
	cases := map[string]struct {
		reason string
		object any
	}{
		"service":       {"Names for all pods, ready or not.", Service(cluster())},
		"auth-secret":   {"Passwords of the system users.", AuthSecret(cluster(), map[string][]byte{KeyOperatorPassword: []byte("op"), KeyReplPassword: []byte("repl")})},
		"acl-secret":    {"The file that servers load.", ACLSecret(cluster(), "user default on\n")},
		"tls-secret":    {"Nothing but the three keys is copied.", TLSCopy(cluster(), map[string][]byte{"tls.crt": []byte("crt"), "tls.key": []byte("key"), "ca.crt": []byte("ca"), "keystore.jks": []byte("x")}, nil)},
		"config-secret": {"The configuration of one member.", ConfigSecret(node(nil), "port \"6379\"\n")},
		"pdb-single":    {"The only member stays until it is replaced.", PodDisruptionBudget(cluster(), 0, 1)},
		"pdb-replicas":  {"One of three members may go.", PodDisruptionBudget(cluster(), 1, 3)},
		"networkpolicy": {"The bus is the cluster's own.", NetworkPolicy(cluster())},
		"node": {"A member that is about to join.", Node(cluster(), "cache-01234", 2, NodeTemplate{
			Image: "valkey/valkey:9.1.2", CPU: "1", Memory: "2Gi", Settings: map[string]string{"maxmemory": "1gb"},
			TLSSecret: TLSSecretName("cache"), Placement: &v1alpha1.Placement{Zones: []string{"a"}},
		})},
		"pod-plain": {"The least that a pod needs.", Pod(node(nil), PodOptions{ACLSecret: "cache-acl"})},
		"pod-full": {"All that a pod can have.", Pod(node(func(n *v1alpha1.ValkeyNode) {
			n.Spec.CPU, n.Spec.Memory, n.Spec.TLSSecret = "500m", "2Gi", "cache-operator-tls"
			n.Spec.Placement = &v1alpha1.Placement{Zones: zones, ZoneSpread: v1alpha1.ZoneSpreadRequired, NodeSelector: map[string]string{"pool": "cache"}}
		}), PodOptions{
			Annotations:       map[string]string{"example.com/inject": "false"},
			DefaultZoneSpread: v1alpha1.ZoneSpreadBestEffort,
			ImagePullSecrets:  []string{"registry"},
			Tolerations:       []corev1.Toleration{{Key: "cache", Operator: corev1.TolerationOpExists}},
			ACLSecret:         "cache-acl",
		})},
		"pod-besteffort": {"Without zoneSpread the provider's default holds.", Pod(node(place(v1alpha1.Placement{Zones: zones})), PodOptions{DefaultZoneSpread: v1alpha1.ZoneSpreadBestEffort, ACLSecret: "cache-acl"})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := yaml.Marshal(tc.object)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
