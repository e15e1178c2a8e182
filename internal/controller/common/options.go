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

// Package common holds what the controllers share.
package common

import (
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/metrics"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// Options of the controllers.
type Options struct {
	xpcontroller.Options

	// Pool holds the connections to the Valkey processes.
	Pool *valkey.Pool
	// Metrics tell of the clusters.
	Metrics *metrics.Clusters
	// TLSSecrets caches the metadata of the TLS Secrets of users.
	TLSSecrets cache.Cache
	// DefaultZoneSpread is used by clusters that do not set their own.
	DefaultZoneSpread v1alpha1.ZoneSpread
	// ImagePullSecrets are set on every pod.
	ImagePullSecrets []string
	// MaxPasswordAge is after how long the passwords of the system users are
	// replaced, 0 for never.
	MaxPasswordAge time.Duration
	// NetworkPolicies makes a NetworkPolicy for every cluster.
	NetworkPolicies bool
	// OldPolicies deletes those that were made while NetworkPolicies was set.
	OldPolicies bool
	// MaxRolling is how many clusters may replace their members at once, 0 for any
	// number.
	MaxRolling int
	// RollPatience is for how long a roll may make no progress before it gives its
	// place up to others that wait.
	RollPatience time.Duration
	// PollJitter is the share of the poll interval, from 0 to 1, by which polls
	// are spread.
	PollJitter float64
}

// MinPollInterval is the shortest interval that the annotation
// crossplane.io/poll-interval may ask for.
const MinPollInterval = time.Second

// Retries of a pass that failed wait from retryFirst up to retryLast. The
// managed reconciler also retries passes in this way that only wait, such as
// those of a deletion, and whose last step may then meet a conflict: with the
// minute that crossplane-runtime waits at most, a deletion that is done in a
// second could take one.
const (
	retryFirst = 200 * time.Millisecond
	retryLast  = 5 * time.Second
)

// ForControllerRuntime returns the options of a controller.
func (o Options) ForControllerRuntime() controller.Options {
	out := o.Options.ForControllerRuntime()
	out.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast)
	return out
}
