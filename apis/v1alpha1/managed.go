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

package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// SetConditions records conditions on the cluster.
func (c *ValkeyCluster) SetConditions(cs ...xpv2.Condition) { c.Status.SetConditions(cs...) }

// GetCondition returns the cluster's condition of a type.
func (c *ValkeyCluster) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return c.Status.GetCondition(t)
}

// SetManagementPolicies sets the actions that the provider may take.
func (c *ValkeyCluster) SetManagementPolicies(p xpv2.ManagementPolicies) {
	c.Spec.ManagementPolicies = p
}

// GetManagementPolicies returns the actions that the provider may take. Unset
// means all: crossplane-runtime reads an empty list as paused.
func (c *ValkeyCluster) GetManagementPolicies() xpv2.ManagementPolicies {
	if c.Spec.ManagementPolicies == nil {
		return xpv2.ManagementPolicies{xpv2.ManagementActionAll}
	}
	return c.Spec.ManagementPolicies
}

// SetWriteConnectionSecretToReference sets where connection details go.
func (c *ValkeyCluster) SetWriteConnectionSecretToReference(r *xpv2.LocalSecretReference) {
	c.Spec.WriteConnectionSecretToReference = r
}

// GetWriteConnectionSecretToReference returns where connection details go.
func (c *ValkeyCluster) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference {
	return c.Spec.WriteConnectionSecretToReference
}

// SetObservedGeneration records the generation that the status describes.
func (c *ValkeyCluster) SetObservedGeneration(g int64) { c.Status.ObservedGeneration = g }

// GetObservedGeneration returns the generation that the status describes.
func (c *ValkeyCluster) GetObservedGeneration() int64 { return c.Status.ObservedGeneration }

// SetLastHandledReconcileAt records the token of a handled reconcile request.
func (c *ValkeyCluster) SetLastHandledReconcileAt(token string) {
	c.Status.LastHandledReconcileAt = token
}

// GetLastHandledReconcileAt returns the token of the latest handled request.
func (c *ValkeyCluster) GetLastHandledReconcileAt() string {
	return c.Status.LastHandledReconcileAt
}

// SetProviderConfigReference does nothing: a ValkeyCluster lives in the cluster of
// the provider and needs no ProviderConfig.
func (c *ValkeyCluster) SetProviderConfigReference(*xpv2.ProviderConfigReference) {}

// GetProviderConfigReference returns nil: a ValkeyCluster has no ProviderConfig.
func (c *ValkeyCluster) GetProviderConfigReference() *xpv2.ProviderConfigReference { return nil }

// SetConditions records conditions on the node.
func (n *ValkeyNode) SetConditions(cs ...xpv2.Condition) { n.Status.SetConditions(cs...) }

// GetCondition returns the node's condition of a type.
func (n *ValkeyNode) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return n.Status.GetCondition(t)
}

// SetManagementPolicies does nothing: a ValkeyNode is always fully managed.
func (n *ValkeyNode) SetManagementPolicies(xpv2.ManagementPolicies) {}

// GetManagementPolicies returns all actions: a ValkeyNode is always fully managed.
func (n *ValkeyNode) GetManagementPolicies() xpv2.ManagementPolicies {
	return xpv2.ManagementPolicies{xpv2.ManagementActionAll}
}

// SetWriteConnectionSecretToReference does nothing: a ValkeyNode has no
// connection details.
func (n *ValkeyNode) SetWriteConnectionSecretToReference(*xpv2.LocalSecretReference) {}

// GetWriteConnectionSecretToReference returns nil: a ValkeyNode has no
// connection details.
func (n *ValkeyNode) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference { return nil }

// SetObservedGeneration records the generation that the status describes.
func (n *ValkeyNode) SetObservedGeneration(g int64) { n.Status.ObservedGeneration = g }

// GetObservedGeneration returns the generation that the status describes.
func (n *ValkeyNode) GetObservedGeneration() int64 { return n.Status.ObservedGeneration }

// SetLastHandledReconcileAt records the token of a handled reconcile request.
func (n *ValkeyNode) SetLastHandledReconcileAt(token string) {
	n.Status.LastHandledReconcileAt = token
}

// GetLastHandledReconcileAt returns the token of the latest handled request.
func (n *ValkeyNode) GetLastHandledReconcileAt() string {
	return n.Status.LastHandledReconcileAt
}

// SetProviderConfigReference does nothing: a ValkeyNode lives in the cluster of
// the provider and needs no ProviderConfig.
func (n *ValkeyNode) SetProviderConfigReference(*xpv2.ProviderConfigReference) {}

// GetProviderConfigReference returns nil: a ValkeyNode has no ProviderConfig.
func (n *ValkeyNode) GetProviderConfigReference() *xpv2.ProviderConfigReference { return nil }
