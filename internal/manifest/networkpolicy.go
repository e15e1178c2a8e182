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
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// NetworkPolicy builds a policy that opens the cluster bus to the cluster's own
// pods only. The bus trusts whoever answers at a known address, so a pod of
// another cluster that inherits an address could otherwise merge the two. The
// other ports stay open to all, those of injected sidecars too.
func NetworkPolicy(c *v1alpha1.ValkeyCluster) *networkingv1.NetworkPolicy {
	own := metav1.LabelSelector{MatchLabels: ClusterSelector(c.GetName())}
	tcp := func(first, last int32) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(first)), EndPort: &last}
	}
	others := []networkingv1.NetworkPolicyPort{
		tcp(1, BusPort-1), tcp(BusPort+1, 65535), {Protocol: new(corev1.ProtocolUDP)}, {Protocol: new(corev1.ProtocolSCTP)},
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: clusterMeta(c, NetworkPolicyName(c.GetName()), ClusterLabels(c.GetName())),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: own,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{Ports: others},
				{Ports: []networkingv1.NetworkPolicyPort{tcp(BusPort, BusPort)}, From: []networkingv1.NetworkPolicyPeer{{PodSelector: &own}}},
			},
		},
	}
}
