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

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/cluster/install"
	"github.com/crossplane-contrib/provider-valkey/internal/permissions"
)

const (
	// permissionWait is how long a provider waits for its rights. Whoever
	// installs it may bind its role a moment later.
	permissionWait = 20 * time.Second
	permissionPoll = time.Second
)

// needed returns what of the shipped role the flags make necessary.
func (c config) needed() ([]permissions.Permission, error) {
	all, err := permissions.Of(install.ClusterRole)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p permissions.Permission) bool {
		switch p.Resource {
		case "leases":
			return !c.leaderElection
		case "networkpolicies":
			return !c.policies
		case "customresourcedefinitions":
			// Without these rights the provider expects that all kinds are there.
			return true
		}
		return false
	}), nil
}

// seesOldPolicies tells whether the provider may take away the NetworkPolicies that
// it made when it ran with the flag for them. Nothing else fails without these
// rights, so that they are not awaited.
func (c config) seesOldPolicies(ctx context.Context, kube client.Client) (bool, error) {
	if c.policies {
		return false, nil
	}
	var want []permissions.Permission
	for _, verb := range []string{"get", "list", "watch", "delete"} {
		want = append(want, permissions.Permission{Group: networkingv1.GroupName, Resource: "networkpolicies", Verb: verb})
	}
	missing, err := permissions.Missing(ctx, kube, want)
	return err == nil && len(missing) == 0, err
}

// awaitPermissions returns once the provider has the rights that it needs, or an
// error that says which it lacks.
func awaitPermissions(ctx context.Context, c client.Client, needed []permissions.Permission, log logging.Logger) error {
	var missing []permissions.Permission
	var failed error
	told := false
	err := wait.PollUntilContextTimeout(ctx, permissionPoll, permissionWait, true, func(ctx context.Context) (bool, error) {
		var have []permissions.Permission
		// What was found to be missing before says more than a failure.
		if have, failed = permissions.Missing(ctx, c, needed); failed == nil {
			missing = have
		}
		if len(missing) > 0 && !told {
			told = true
			log.Info("Waiting for missing permissions", "missing", permissions.Describe(missing))
		}
		return failed == nil && len(missing) == 0, nil
	})
	switch {
	case err == nil:
		return nil
	case wait.Interrupted(err) && len(missing) > 0:
		return fmt.Errorf("the provider may not: %s; bind the ClusterRole of cluster/install/clusterrole.yaml to its ServiceAccount", permissions.Describe(missing))
	case failed != nil:
		return failed
	}
	return err
}
