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

// Package permissions checks whether the provider may do what it has to. A
// provider that lacks a right looks well and fails in the middle of an
// operation; it is better to say so at once.
package permissions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// atOnce bounds how many questions are asked at once.
const atOnce = 16

// A Permission is a verb on a resource, in all namespaces.
type Permission struct{ Group, Resource, Verb string }

// Of lists what a ClusterRole permits.
func Of(manifest []byte) ([]Permission, error) {
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(manifest, role); err != nil {
		return nil, fmt.Errorf("cannot read the ClusterRole: %w", err)
	}
	var out []Permission
	for _, r := range role.Rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					out = append(out, Permission{Group: group, Resource: resource, Verb: verb})
				}
			}
		}
	}
	return out, nil
}

// Missing returns those that the client's user lacks, in their order.
func Missing(ctx context.Context, c client.Client, want []Permission) ([]Permission, error) {
	allowed := make([]bool, len(want))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, p := range want {
		g.Go(func() error {
			ok, err := may(ctx, c, p)
			allowed[i] = ok
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []Permission
	for i, p := range want {
		if !allowed[i] {
			out = append(out, p)
		}
	}
	return out, nil
}

func may(ctx context.Context, c client.Client, p Permission) (bool, error) {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	r := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: p.Group, Resource: resource, Subresource: sub, Verb: p.Verb},
	}}
	if err := c.Create(ctx, r); err != nil {
		return false, fmt.Errorf("cannot ask for the provider's rights: %w", err)
	}
	return r.Status.Allowed, nil
}

// Describe says in words what permissions are about: the verbs of each resource.
func Describe(ps []Permission) string {
	var names []string
	verbs := map[string][]string{}
	for _, p := range ps {
		name := p.Resource
		if p.Group != "" {
			name += "." + p.Group
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		verbs[name] = append(verbs[name], p.Verb)
	}
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, strings.Join(verbs[n], ", ")+" "+n)
	}
	return strings.Join(out, "; ")
}
