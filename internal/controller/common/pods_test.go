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

package common

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodTrouble(t *testing.T) {
	valkey := func(s corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: ContainerName, State: s}}}
	}
	cases := map[string]struct {
		reason string
		status corev1.PodStatus
		want   string
	}{
		"Running": {
			reason: "a running pod has no trouble",
			status: valkey(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}),
		},
		"Starting": {
			reason: "a container that is being made is no trouble yet",
			status: valkey(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}),
		},
		"Unschedulable": {
			reason: "the scheduler's reason is passed on",
			status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes"}}},
			want:   "the pod cannot be scheduled: 0/3 nodes",
		},
		"NoImage": {
			reason: "an image that cannot be pulled points to the ValkeyImage",
			status: valkey(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}),
			want:   "ImagePullBackOff: not found; check repository and tag of the ValkeyImage",
		},
		"BadSetting": {
			reason: "the server's last words are the reason",
			status: valkey(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "*** FATAL CONFIG FILE ERROR ***\nat line 3\n>>> 'foo \"bar\"'\n"}}),
			want:   `container ended with exit code 1 (Error): *** FATAL CONFIG FILE ERROR *** | at line 3 | >>> 'foo "bar"'; correct this setting in the ValkeyConfig`,
		},
		"OutOfMemory": {
			reason: "a server that was killed for its memory gets advice",
			status: valkey(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}),
			want:   "container ended with exit code 137 (OOMKilled); raise resources.memory or lower maxmemory in the ValkeyConfig",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := PodTrouble(&corev1.Pod{Status: tc.status})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nPodTrouble: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLastLinesIsShort(t *testing.T) {
	long := strings.Repeat("x", 500) + "\n"
	if n := len(lastLines(strings.Repeat(long, 20))); n > 600 {
		t.Errorf("a log must fit into a status, got %d characters", n)
	}
}

func TestStripPod(t *testing.T) {
	now := metav1.Now()
	kept := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "p", Namespace: "ns", UID: "u", ResourceVersion: "7", CreationTimestamp: now, DeletionTimestamp: &now, DeletionGracePeriodSeconds: new(int64(1)),
				Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"}, OwnerReferences: []metav1.OwnerReference{{Name: "o"}},
			},
			Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: ContainerName, Image: "i"}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodFailed, Reason: "r", Message: "m", PodIP: "10.0.0.1",
				Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, Reason: "r", Message: "m"}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
			},
		}
	}
	whole := kept()
	whole.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	whole.Spec.Volumes = []corev1.Volume{{Name: "data"}}
	whole.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "POD_IP"}}
	whole.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
	whole.Status.Conditions[0].LastProbeTime = now
	whole.Status.ContainerStatuses[0].ImageID = "sha256:0"
	got, err := StripPod(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept(), got); diff != "" {
		t.Errorf("StripPod(...): -want, +got:\n%s", diff)
	}
}
