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
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/catalog"
	"github.com/crossplane-contrib/provider-valkey/internal/servingcert"
	"github.com/crossplane-contrib/provider-valkey/internal/settings"
)

// A resolved is everything that follows from the spec, the catalog and the TLS
// Secret alone.
type resolved struct {
	catalog.Resolved

	settings   map[string]string
	overridden []string
	warnings   []string
	users      []acl.User
	// tls is the content of the TLS Secret, nil while it cannot be used.
	tls  map[string][]byte
	cert servingcert.Cert
}

// An invalid says why a spec cannot be worked on, in words for its author.
type invalid struct{ err error }

func (e invalid) Error() string { return e.err.Error() }
func (e invalid) Unwrap() error { return e.err }

// resolve reads what the spec refers to. An invalid error is the author's to
// mend, any other one is ours to retry. Where only the TLS Secret is bad, the
// rest is returned with the error: who may log in does not depend on it.
func (e *external) resolve(ctx context.Context, c *v1alpha1.ValkeyCluster) (*resolved, error) {
	cat, err := readCatalog(ctx, e.client)
	if err != nil {
		return nil, err
	}
	out, err := resolveConfig(c, cat)
	if err != nil {
		return nil, err
	}
	merged, err := acl.Merge(out.ACL, c.Spec.ACL)
	if err != nil {
		return nil, invalid{err}
	}
	if out.users, err = acl.Render(merged, cat.Roles); err != nil {
		return nil, invalid{err}
	}
	return out, e.resolveTLS(ctx, c, out)
}

// resolveConfig follows the spec into the catalog as far as members depend on it.
func resolveConfig(c *v1alpha1.ValkeyCluster, cat catalog.Catalog) (out *resolved, err error) {
	out = &resolved{}
	if out.Resolved, err = catalog.Resolve(cat, c.Spec.ConfigRef); err != nil {
		return nil, invalid{err}
	}
	return out, out.renderSettings(c)
}

func (r *resolved) renderSettings(c *v1alpha1.ValkeyCluster) error {
	rendered, err := settings.Render(settings.Input{User: r.Settings, TLS: c.Spec.TLS != nil, Cluster: c.GetName(), Namespace: c.GetNamespace()})
	if err != nil {
		return invalid{fmt.Errorf("ValkeyConfig %q: %w", c.Spec.ConfigRef, err)}
	}
	r.settings, r.overridden = rendered.Settings, rendered.Overridden
	for _, p := range append(settings.Check(rendered.Settings), settings.CheckLimit(rendered.Settings, r.Memory)...) {
		if !p.Warning {
			return invalid{fmt.Errorf("ValkeyConfig %q: %s", c.Spec.ConfigRef, p.Message)}
		}
		r.warnings = append(r.warnings, p.Message)
	}
	return nil
}

func readCatalog(ctx context.Context, reader client.Reader) (catalog.Catalog, error) {
	out := catalog.Catalog{
		Images:  map[string]v1alpha1.ValkeyImageSpec{},
		Configs: map[string]v1alpha1.ValkeyConfigSpec{},
		Roles:   map[string]v1alpha1.ValkeyRoleSpec{},
	}
	images, configs, roles := &v1alpha1.ValkeyImageList{}, &v1alpha1.ValkeyConfigList{}, &v1alpha1.ValkeyRoleList{}
	if err := errors.Join(reader.List(ctx, images), reader.List(ctx, configs), reader.List(ctx, roles)); err != nil {
		return out, fmt.Errorf("cannot read the catalog: %w", err)
	}
	for i := range images.Items {
		out.Images[images.Items[i].Name] = images.Items[i].Spec
	}
	for i := range configs.Items {
		out.Configs[configs.Items[i].Name] = configs.Items[i].Spec
	}
	for i := range roles.Items {
		out.Roles[roles.Items[i].Name] = roles.Items[i].Spec
	}
	return out, nil
}

func (e *external) resolveTLS(ctx context.Context, c *v1alpha1.ValkeyCluster, out *resolved) error {
	if c.Spec.TLS == nil {
		return nil
	}
	s := servingcert.Secret{Name: c.Spec.TLS.SecretRef, Namespace: c.GetNamespace()}
	obj := &corev1.Secret{}
	err := e.live.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, obj)
	if err != nil && !kerrors.IsNotFound(err) {
		return fmt.Errorf("cannot read TLS Secret %q: %w", s.Name, err)
	}
	s.Found, s.Data = err == nil, obj.Data
	cert, err := servingcert.Validate(s, c.GetName(), c.GetNamespace(), time.Now())
	if err != nil {
		return invalid{err}
	}
	out.cert = cert
	out.tls = map[string][]byte{}
	for _, k := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, "ca.crt"} {
		out.tls[k] = obj.Data[k]
	}
	return nil
}
