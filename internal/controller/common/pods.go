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
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerName is the name of the Valkey container in a member's pod.
const ContainerName = "valkey"

// PodEnded tells whether the containers of a pod have ended for good. A pod of a
// member never restarts its container.
func PodEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// PodTrouble says in words why a pod does not run, and "" if it does or if there
// is nothing to tell yet.
func PodTrouble(p *corev1.Pod) string {
	if m := scheduleTrouble(p); m != "" {
		return m
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.Name != ContainerName {
			continue
		}
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return explain(w.Reason, w.Message, p)
		}
		if t := c.State.Terminated; t != nil {
			return explain(fmt.Sprintf("container ended with exit code %d (%s)", t.ExitCode, t.Reason), t.Message, p)
		}
	}
	if PodEnded(p) {
		return explain("pod "+strings.ToLower(string(p.Status.Phase)), strings.TrimSpace(p.Status.Reason+" "+p.Status.Message), p)
	}
	return ""
}

func scheduleTrouble(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return "the pod cannot be scheduled: " + c.Message
		}
	}
	return ""
}

func explain(what, detail string, p *corev1.Pod) string {
	out := what
	if last := lastLines(detail); last != "" {
		out += ": " + last
	}
	if advice := hint(what, detail, p); advice != "" {
		out += "; " + advice
	}
	return out
}

func hint(what, detail string, p *corev1.Pod) string {
	switch {
	case strings.Contains(what, "ImagePull") || strings.Contains(what, "ErrImage") || what == "InvalidImageName":
		return "check repository and tag of the ValkeyImage"
	case strings.Contains(detail, "executable file not found") || strings.Contains(detail, "no such file or directory"):
		return fmt.Sprintf("the image %s has no valkey-server; check the ValkeyImage", imageOf(p))
	case strings.Contains(detail, "FATAL CONFIG FILE ERROR"):
		return "correct this setting in the ValkeyConfig"
	case strings.Contains(what, "OOMKilled"):
		return "raise resources.memory or lower maxmemory in the ValkeyConfig"
	}
	return ""
}

func imageOf(p *corev1.Pod) string {
	for _, c := range p.Spec.Containers {
		if c.Name == ContainerName {
			return c.Image
		}
	}
	return ""
}

// lastLines keeps the end of a log short enough for a status: at most 6 lines and
// 600 characters.
func lastLines(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 6 {
		lines = lines[len(lines)-6:]
	}
	out := strings.Join(lines, " | ")
	if r := []rune(out); len(r) > 600 {
		out = string(r[len(r)-600:])
	}
	return strings.TrimSpace(out)
}

// StripPod is a cache transform that keeps of a pod what the controllers read:
// a whole one takes four times the memory, and there may be thousands.
func StripPod(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Name, Namespace: p.Namespace, UID: p.UID, ResourceVersion: p.ResourceVersion,
			Labels: p.Labels, Annotations: p.Annotations, OwnerReferences: p.OwnerReferences,
			CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp, DeletionGracePeriodSeconds: p.DeletionGracePeriodSeconds,
		},
		Spec:   corev1.PodSpec{NodeName: p.Spec.NodeName},
		Status: corev1.PodStatus{Phase: p.Status.Phase, Reason: p.Status.Reason, Message: p.Status.Message, PodIP: p.Status.PodIP},
	}
	for _, c := range p.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name, Image: c.Image})
	}
	for _, c := range p.Status.ContainerStatuses {
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: c.State})
	}
	for _, c := range p.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
	}
	return out, nil
}
