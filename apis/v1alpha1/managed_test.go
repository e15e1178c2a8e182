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

package v1alpha1_test

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// reconcileTracker is what crossplane-runtime asks of a kind that answers the
// annotation crossplane.io/reconcile-requested-at.
type reconcileTracker interface {
	GetLastHandledReconcileAt() string
	SetLastHandledReconcileAt(token string)
}

// The managed kinds are what crossplane-runtime takes them for. The assertions
// live in a test so that the API does not import the runtime.
var (
	_ resource.ModernManaged          = &v1alpha1.ValkeyCluster{}
	_ resource.ModernManaged          = &v1alpha1.ValkeyNode{}
	_ resource.ReconciliationObserver = &v1alpha1.ValkeyCluster{}
	_ resource.ReconciliationObserver = &v1alpha1.ValkeyNode{}
	_ reconcileTracker                = &v1alpha1.ValkeyCluster{}
	_ reconcileTracker                = &v1alpha1.ValkeyNode{}
)
