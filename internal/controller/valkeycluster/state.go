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
	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// A transition is what one pass makes of the state of a cluster.
type transition struct {
	State      v1alpha1.ClusterState
	TargetSpec *v1alpha1.ValkeyClusterSpec
	Message    string
}

// enter decides, before a plan is made, in which state a pass works: the problem
// of the spec makes it Invalid, and from there or from nothing it is Creating.
func enter(c *v1alpha1.ValkeyCluster, problem string) transition {
	st := c.Status
	switch {
	case problem != "":
		return transition{State: v1alpha1.StateInvalid, Message: problem}
	case st.State == v1alpha1.StateActive:
		return transition{State: v1alpha1.StateActive}
	case st.State == v1alpha1.StateCreating && st.TargetSpec != nil:
		return transition{State: v1alpha1.StateCreating, TargetSpec: st.TargetSpec}
	}
	return transition{State: v1alpha1.StateCreating, TargetSpec: snapshot(c)}
}

// snapshot copies the spec without its ACL bindings: they are always read live,
// and twice the largest list would not fit into one object.
func snapshot(c *v1alpha1.ValkeyCluster) *v1alpha1.ValkeyClusterSpec {
	s := c.Spec
	s.ACL = nil
	return s.DeepCopy()
}

// leave decides, from the plan, in which state the pass ends.
func (t transition) leave(active bool) transition {
	if t.State == v1alpha1.StateCreating && active {
		return transition{State: v1alpha1.StateActive}
	}
	return t
}

// topologyOf returns the shards and replicas that a pass works toward: those of
// the snapshot while Creating, so that edits are deferred, else the spec's.
func (t transition) topologyOf(c *v1alpha1.ValkeyCluster) (shards, replicas int) {
	if t.TargetSpec != nil {
		return int(t.TargetSpec.Shards), int(t.TargetSpec.ReplicasPerShard)
	}
	return int(c.Spec.Shards), int(c.Spec.ReplicasPerShard)
}
