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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// checkOrigin reports a member that somebody else made for the cluster, such as
// another operator with the same kinds. To go on without it would give clients an
// empty cluster under the name of the one with their data.
func (e *external) checkOrigin(ctx context.Context, c *v1alpha1.ValkeyCluster) error {
	l := &v1alpha1.ValkeyNodeList{}
	if err := e.client.List(ctx, l, client.InNamespace(c.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list ValkeyNodes: %w", err)
	}
	for i := range l.Items {
		n := &l.Items[i]
		if (n.Spec.ClusterName == c.GetName() || metav1.IsControlledBy(n, c)) && !manifest.MadeByUs(n) {
			return invalid{fmt.Errorf("ValkeyNode %q of this cluster was not made by this provider, which leaves it and its data alone: move the data as docs/migration.md says, or delete the node if it is not needed", n.GetName())}
		}
	}
	return nil
}
