//go:build server

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
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// A newcomer that follows a primary lives through it that the primary hands over to
// another replica, also right after it has met them: it may take the two for members
// of different shards then, and would run in circles for ever (Valkey 8.0 to 9.1).
func TestNewcomerLivesThroughHandover(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 5, 1)
		// A primary votes once in a while on a shard, so that each has its turn.
		for round, slot := range []int{0, 4000, 8000, 12000, 16000} {
			old := r.primary(slot)
			heir := r.replicaOf(old)
			shard := int(r.pods[old].obj.Spec.ShardIndex)
			name := fmt.Sprint("newcomer-", round)
			r.create(name, shard)
			r.until("the newcomer to follow", func(topology.Plan) bool { return r.replicaOf(old, heir) == name })
			f := topology.Failover{Node: heir, Mode: topology.FailoverDefault, Shard: shard, Old: old}
			valkeyserver.Await(t, 10*time.Second, "the newcomer to follow the heir", func() string {
				r.look()
				must(t, r.carryOut(f))
				return r.notFollowing(name, heir)
			})
			r.converge()
		}
	})
}

// A newcomer that comes while the pod of its primary is being deleted follows the heir,
// and lives through the handover between the two also where it has just met them.
func TestNewcomerOfAnEvictedPrimary(t *testing.T) {
	onVersions(t, valkeyserver.Versions(), func(t *testing.T, v string) {
		r := newRig(t, v, 5, 1)
		for round, slot := range []int{0, 4000, 8000, 12000, 16000} {
			old := r.primary(slot)
			heir := r.replicaOf(old)
			name := fmt.Sprint("newcomer-", round)
			r.create(name, int(r.pods[old].obj.Spec.ShardIndex))
			r.evict(old)
			r.until("the newcomer to follow the heir", func(topology.Plan) bool { return r.notFollowing(name, heir) == "" })
			r.converge()
		}
	})
}

// evict deletes the pod of a member, which goes on serving for a while.
func (r *rig) evict(name string) {
	grace := int64(30)
	end := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))
	r.change(name, func(n *node) { n.pod.DeletionTimestamp, n.pod.DeletionGracePeriodSeconds = &end, &grace })
}

// notFollowing says whom a member follows instead of another one, or "".
func (r *rig) notFollowing(name, primary string) string {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	st, err := r.servers[name].Node().State(ctx)
	switch {
	case err != nil:
		return err.Error()
	case st.Myself().PrimaryID != r.id(primary):
		return "it follows " + st.Myself().PrimaryID
	}
	return ""
}

// replicaOf returns a replica of a member that is none of others, or "".
func (r *rig) replicaOf(primary string, others ...string) string {
	for _, n := range r.e.found.nodes {
		if n.state == nil || n.state.Replication.Role != valkey.RoleReplica || n.state.Myself().PrimaryID != r.id(primary) {
			continue
		}
		if name := n.obj.GetName(); !slices.Contains(others, name) {
			return name
		}
	}
	return ""
}
