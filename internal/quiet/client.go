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

// Package quiet keeps the managed reconciler of crossplane-runtime from writing
// what the API server already has: it updates the status after every pass, and
// an idle cluster must cause no API write.
package quiet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A Manager hands out a client that skips status updates without a change.
type Manager struct {
	manager.Manager
}

// GetClient returns the manager's client, made quiet.
func (m Manager) GetClient() client.Client {
	return &Client{Client: m.Manager.GetClient(), live: m.GetAPIReader()}
}

// A Client skips status updates that change nothing, and reads Secrets from the
// API server instead of the cache, which holds only those of the provider.
type Client struct {
	client.Client
	live client.Reader
}

// Get reads an object, Secrets from the API server.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*corev1.Secret); ok {
		return c.live.Get(ctx, key, obj, opts...)
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// Status returns a writer whose Update skips statuses that have not changed.
func (c *Client) Status() client.SubResourceWriter {
	return &statusWriter{SubResourceWriter: c.Client.Status(), reader: c.Client}
}

type statusWriter struct {
	client.SubResourceWriter
	reader client.Reader
}

// Update writes the status unless the cache has the same version of the object
// with the same status.
func (w *statusWriter) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	same, err := w.unchanged(ctx, obj)
	if err != nil || !same {
		return w.SubResourceWriter.Update(ctx, obj, opts...)
	}
	return nil
}

func (w *statusWriter) unchanged(ctx context.Context, obj client.Object) (bool, error) {
	had, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("%T is not an object", obj)
	}
	if err := w.reader.Get(ctx, client.ObjectKeyFromObject(obj), had); err != nil {
		return false, err
	}
	if had.GetResourceVersion() != obj.GetResourceVersion() {
		return false, nil
	}
	a, err := statusOf(had)
	if err != nil {
		return false, err
	}
	b, err := statusOf(obj)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(a, b), nil
}

func statusOf(obj runtime.Object) (any, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	return u["status"], nil
}
