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
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// ContainerName names the one container of a pod.
const ContainerName = "valkey"

// Directories of the container.
const (
	dataDir = "/var/lib/valkey"
	confDir = "/etc/valkey/conf"
	aclDir  = "/etc/valkey/acl"
	tlsDir  = "/etc/valkey/tls"
	tmpDir  = "/tmp"
)

// valkeyID is user and group of the server in Valkey's own images.
const valkeyID = 999

// HandOver is how long a pod that somebody deletes or evicts goes on serving, so that
// its primary can hand over. A member that the provider retires has handed over
// already and is deleted with a shorter grace period.
const HandOver = 10 * time.Second

// PodOptions are what a pod depends on beside its member.
type PodOptions struct {
	// Annotations are the user's, copied as they are.
	Annotations map[string]string

	// DefaultZoneSpread applies where the placement does not say.
	DefaultZoneSpread v1alpha1.ZoneSpread

	// ImagePullSecrets names Secrets in the pod's namespace.
	ImagePullSecrets []string

	// Tolerations are added to those that every pod has.
	Tolerations []corev1.Toleration

	// ACLSecret names the Secret with the ACL file.
	ACLSecret string
}

// Pod builds the one pod that a member ever has. Its container is never started
// again in place: a server that came back empty under its old identity would
// have its replicas throw their data away.
func Pod(n *v1alpha1.ValkeyNode, o PodOptions) *corev1.Pod {
	meta := nodeMeta(n, n.GetName())
	meta.Annotations = maps.Clone(o.Annotations)
	zones := zonesOf(n.Spec.Placement)
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			Hostname:                      n.GetName(),
			Subdomain:                     ServiceName(n.Spec.ClusterName),
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(30)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: ReadinessGate}},
			SecurityContext:               podSecurity(),
			ImagePullSecrets:              pullSecrets(o.ImagePullSecrets),
			NodeSelector:                  nodeSelector(n.Spec.Placement),
			Affinity:                      affinity(zones),
			Tolerations:                   tolerations(o.Tolerations),
			TopologySpreadConstraints:     spread(n, zones, zoneSpreadOf(n.Spec.Placement, o.DefaultZoneSpread)),
			Containers:                    []corev1.Container{container(n)},
			Volumes:                       volumes(n, o.ACLSecret),
		},
	}
}

func container(n *v1alpha1.ValkeyNode) corev1.Container {
	return corev1.Container{
		Name:  ContainerName,
		Image: n.Spec.Image,
		// A server does not learn its own new address by itself, so it is told.
		Command: []string{"valkey-server", confDir + "/" + KeyConf, "--cluster-announce-ip", "$(POD_IP)"},
		Env: []corev1.EnvVar{{
			Name:      "POD_IP",
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}},
		}},
		Ports: []corev1.ContainerPort{
			{Name: PortName, ContainerPort: Port, Protocol: corev1.ProtocolTCP},
			{Name: BusPortName, ContainerPort: BusPort, Protocol: corev1.ProtocolTCP},
		},
		Resources:     resources(n.Spec.CPU, n.Spec.Memory),
		VolumeMounts:  mounts(n),
		LivenessProbe: liveness(n.Spec.TLSSecret != ""),
		Lifecycle:     &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(HandOver.Seconds())}}},
		// What a server says before it ends is the reason why it did.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          containerSecurity(),
	}
}

// liveness asks whether the server answers at all. The client ends well on every
// reply, an error such as NOAUTH, LOADING or BUSY too, and badly only without
// one: a server that loads or runs a long script is alive.
func liveness(tls bool) *corev1.Probe {
	command := []string{"valkey-cli", "-h", "localhost", "-p", fmt.Sprint(Port)}
	if tls {
		command = append(command, "--tls", "--insecure")
	}
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: append(command, "ping")}},
		InitialDelaySeconds: 10,
		PeriodSeconds:       30,
		TimeoutSeconds:      10,
		SuccessThreshold:    1,
		FailureThreshold:    4,
	}
}

// resources makes each value request and limit. A value that is no quantity is
// left out here; it was refused where the configuration was resolved.
func resources(cpu, memory string) corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	for name, value := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if q, err := resource.ParseQuantity(value); err == nil {
			list[name] = q
		}
	}
	if len(list) == 0 {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Requests: list, Limits: list.DeepCopy()}
}

func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		RunAsUser:      new(int64(valkeyID)),
		RunAsGroup:     new(int64(valkeyID)),
		FSGroup:        new(int64(valkeyID)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func volumes(n *v1alpha1.ValkeyNode, aclSecret string) []corev1.Volume {
	out := []corev1.Volume{
		emptyVolume("data"),
		emptyVolume("tmp"),
		secretVolume("conf", ConfigSecretName(n.GetName())),
		secretVolume("acl", aclSecret),
	}
	if n.Spec.TLSSecret != "" {
		out = append(out, secretVolume("tls", n.Spec.TLSSecret))
	}
	return out
}

// mounts mounts whole directories: a file mounted alone would never see a new
// content of its Secret.
func mounts(n *v1alpha1.ValkeyNode) []corev1.VolumeMount {
	out := []corev1.VolumeMount{
		{Name: "data", MountPath: dataDir},
		{Name: "tmp", MountPath: tmpDir},
		{Name: "conf", MountPath: confDir, ReadOnly: true},
		{Name: "acl", MountPath: aclDir, ReadOnly: true},
	}
	if n.Spec.TLSSecret != "" {
		out = append(out, corev1.VolumeMount{Name: "tls", MountPath: tlsDir, ReadOnly: true})
	}
	return out
}

func emptyVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// secretVolume is readable for the server's group only.
func secretVolume(name, secret string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))}}}
}

func pullSecrets(names []string) []corev1.LocalObjectReference {
	out := make([]corev1.LocalObjectReference, 0, len(names))
	for _, n := range names {
		out = append(out, corev1.LocalObjectReference{Name: n})
	}
	return out
}

func nodeSelector(p *v1alpha1.Placement) map[string]string {
	if p == nil {
		return nil
	}
	return maps.Clone(p.NodeSelector)
}

// tolerations begin with that of Arm nodes, on which Valkey runs as well.
func tolerations(more []corev1.Toleration) []corev1.Toleration {
	arm := corev1.Toleration{Key: "kubernetes.io/arch", Operator: corev1.TolerationOpEqual, Value: "arm64", Effect: corev1.TaintEffectNoSchedule}
	return slices.Concat([]corev1.Toleration{arm}, more)
}
