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

package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

func TestSecretsOfClusters(t *testing.T) {
	c := &v1alpha1.ValkeyCluster{}
	c.SetName("c")
	n := &v1alpha1.ValkeyNode{Spec: v1alpha1.ValkeyNodeSpec{ClusterName: "c"}}
	n.SetName("c-01234")
	cases := map[string]struct {
		reason string
		labels map[string]string
		want   bool
	}{
		"Cluster": {reason: "The users of a cluster are compared in every pass.", labels: manifest.ACLSecret(c, "").Labels, want: true},
		"Member":  {reason: "The settings of a member are not.", labels: manifest.ConfigSecret(n, "").Labels},
		"Foreign": {reason: "Nor is what others made.", labels: map[string]string{"app.kubernetes.io/name": "other"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := secretsOfClusters().Matches(labels.Set(tc.labels)); got != tc.want {
				t.Errorf("%s secretsOfClusters().Matches(...): %t", tc.reason, got)
			}
		})
	}
}
