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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// Ports of a member and their names.
const (
	Port        = 6379
	PortName    = "valkey"
	BusPort     = 16379
	BusPortName = "valkey-bus"
)

// Service builds the headless Service that gives every pod of a cluster a DNS
// name. It publishes pods before they are ready: members need to find each other
// to become so.
func Service(c *v1alpha1.ValkeyCluster) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: clusterMeta(c, ServiceName(c.GetName()), ClusterLabels(c.GetName())),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 ClusterSelector(c.GetName()),
			Ports: []corev1.ServicePort{
				{Name: PortName, Protocol: corev1.ProtocolTCP, Port: Port, TargetPort: intstr.FromInt32(Port)},
				{Name: BusPortName, Protocol: corev1.ProtocolTCP, Port: BusPort, TargetPort: intstr.FromInt32(BusPort)},
			},
		},
	}
}
