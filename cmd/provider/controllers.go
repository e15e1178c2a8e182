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

	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/valkeycluster"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/valkeynode"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch

// setup adds the controllers once all five kinds are there. Crossplane installs
// a provider before its kinds, and may activate them later or never.
func setup(ctx context.Context, mgr ctrl.Manager, o common.Options) error {
	ok, err := seesDefinitions(ctx, mgr.GetClient())
	if err != nil {
		return err
	}
	if !ok {
		o.Logger.Info("May not watch CustomResourceDefinitions, so all kinds have to be there already")
		return controllers(ctx, mgr, o)
	}
	kinds := new(gate.Gate[schema.GroupVersionKind])
	o.Gate = kinds
	if err := customresourcesgate.Setup(mgr, o.Options); err != nil {
		return fmt.Errorf("cannot watch CustomResourceDefinitions: %w", err)
	}
	// The gate calls in a goroutine of its own; a failure must end the process,
	// or it would look well and do nothing.
	failed := make(chan error, 1)
	kinds.Register(func() {
		o.Logger.Info("All kinds are there, starting the controllers")
		if err := controllers(ctx, mgr, o); err != nil {
			failed <- err
		}
	}, v1alpha1.ValkeyClusterGVK, v1alpha1.ValkeyNodeGVK, v1alpha1.ValkeyImageGVK, v1alpha1.ValkeyConfigGVK, v1alpha1.ValkeyRoleGVK)
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}))
}

// definition makes a CustomResourceDefinition what the gate needs to see of it.
// The gate takes a kind that is being deleted for one that is not there. But its
// objects have finalizers, so that it goes only when the controllers work: a
// provider that was removed too early could not clean up after it came back.
func definition(obj any) (any, error) {
	out, err := customresourcesgate.TransformStripCRDSchema(obj)
	if crd, ok := out.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.DeletionTimestamp = nil
	}
	return out, err
}

func controllers(ctx context.Context, mgr ctrl.Manager, o common.Options) error {
	if err := valkeynode.Setup(mgr, o); err != nil {
		return fmt.Errorf("cannot set up the ValkeyNode controller: %w", err)
	}
	if err := valkeycluster.Setup(ctx, mgr, o); err != nil {
		return fmt.Errorf("cannot set up the ValkeyCluster controller: %w", err)
	}
	return nil
}

// seesDefinitions tells whether the provider may watch
// CustomResourceDefinitions. Without that right their cache would never fill and
// the manager would give up.
func seesDefinitions(ctx context.Context, c client.Client) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		r := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"},
		}}
		if err := c.Create(ctx, r); err != nil {
			return false, fmt.Errorf("cannot ask for the provider's rights: %w", err)
		}
		if !r.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}
