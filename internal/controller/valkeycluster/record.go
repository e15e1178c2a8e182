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
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// A recording is what has to be written into the status of a node before the
// node is used: its identity and its role.
type recording struct {
	node   *node
	fields map[string]any
}

// recording returns what is new about a node, or nil.
func (n *node) recording(now time.Time) *recording {
	if n.state == nil {
		return nil
	}
	fields := map[string]any{}
	if n.obj.Status.NodeID == "" {
		fields["nodeID"] = n.state.ID
	}
	if role := n.role(); role != n.obj.Status.Role || n.obj.Status.RoleSince == nil {
		fields["role"] = string(role)
		// Times have whole seconds: rounding up keeps an age from being overstated.
		fields["roleSince"] = now.UTC().Add(time.Second - 1).Format(time.RFC3339)
	}
	if len(fields) == 0 {
		return nil
	}
	return &recording{node: n, fields: fields}
}

// what identifies what is recorded, whenever that is.
func (r recording) what() string { return fmt.Sprint(r.node.state.ID, " ", r.node.role()) }

// promotion tells whether a replica became primary.
func (r recording) promotion() bool {
	return r.node.obj.Status.Role == v1alpha1.RoleReplica && r.fields["role"] == string(v1alpha1.RolePrimary)
}

func (e *external) writeRecording(ctx context.Context, c *v1alpha1.ValkeyCluster, r recording) error {
	patch, err := json.Marshal(map[string]any{"status": r.fields})
	if err != nil {
		return err
	}
	obj := &v1alpha1.ValkeyNode{}
	obj.SetName(r.node.obj.GetName())
	obj.SetNamespace(r.node.obj.GetNamespace())
	if err := e.client.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot record the identity of %s: %w", r.node.obj.GetName(), err)
	}
	if r.promotion() {
		e.measureFailover(c, r.node.obj.GetName())
	}
	return nil
}

// synced tells whether a member serves: a primary with slots, or a replica whose
// link is up.
func (n *node) synced() bool {
	st := n.state
	if st == nil || st.Loading || !st.ClusterOK {
		return false
	}
	if st.Replication.Role == valkey.RoleReplica {
		return st.Replication.LinkUp && !st.Replication.SyncInProgress
	}
	return len(n.ownSlots()) > 0
}

// staleGates returns the nodes whose pod does not yet tell, by its readiness
// gate, whether they are synced members.
func (e *external) staleGates() []*node {
	var out []*node
	for _, n := range e.found.nodes {
		if n.pod == nil || n.pod.DeletionTimestamp != nil || !reachable(n) || e.found.template == nil {
			continue
		}
		if gate(n.pod) != n.synced() {
			out = append(out, n)
		}
	}
	return out
}

func gate(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == manifest.ReadinessGate {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (e *external) writeGate(ctx context.Context, n *node) error {
	cond := map[string]any{"type": string(manifest.ReadinessGate), "status": string(corev1.ConditionFalse), "reason": "NotSynced", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
	if n.synced() {
		cond["status"], cond["reason"] = string(corev1.ConditionTrue), "Synced"
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{cond}}})
	if err != nil {
		return err
	}
	pod := &corev1.Pod{}
	pod.SetName(n.pod.GetName())
	pod.SetNamespace(n.pod.GetNamespace())
	err = e.client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot set the readiness gate of pod %s: %w", n.pod.GetName(), err)
	}
	return nil
}
