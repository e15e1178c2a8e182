//go:build api

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

package api

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// An object and a list are JSON as a user would write it.
type (
	object = map[string]any
	list   = []any
)

// hash is the SHA-256 of an empty password.
const hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// with returns base with changes. A change to nil removes the field.
func with(base object, changes ...object) object {
	out := maps.Clone(base)
	for _, c := range changes {
		maps.Copy(out, c)
	}
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

// times returns a list of n times v.
func times(n int, v any) list { return slices.Repeat(list{v}, n) }

// each returns a list of n values.
func each(n int, f func(i int) any) list {
	out := make(list, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// resource returns an object of a kind that the API server is asked to store.
func resource(gvk schema.GroupVersionKind, name string, spec object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object{"metadata": object{"name": name}, "spec": spec}}
	u.SetGroupVersionKind(gvk)
	if gvk == v1alpha1.ValkeyClusterGVK || gvk == v1alpha1.ValkeyNodeGVK {
		u.SetNamespace("default")
	}
	return u.DeepCopy()
}

// cluster returns a smallest ValkeyCluster with changes to its spec.
func cluster(changes ...object) *unstructured.Unstructured {
	base := object{"configRef": "standard", "shards": int64(3), "replicasPerShard": int64(1)}
	return resource(v1alpha1.ValkeyClusterGVK, "my-cluster", with(base, changes...))
}

// node returns a smallest ValkeyNode with changes to its spec.
func node(changes ...object) *unstructured.Unstructured {
	base := object{"clusterName": "my-cluster", "image": "valkey/valkey:9.0.0", "shardIndex": int64(0)}
	return resource(v1alpha1.ValkeyNodeGVK, "my-cluster-0a1b2", with(base, changes...))
}

// image returns a smallest ValkeyImage with changes to its spec.
func image(changes ...object) *unstructured.Unstructured {
	base := object{"repository": "valkey/valkey", "tag": "9.0.0", "version": "9.0.0"}
	return resource(v1alpha1.ValkeyImageGVK, "valkey-9-0", with(base, changes...))
}

// menu returns a smallest ValkeyConfig with changes to its spec.
func menu(changes ...object) *unstructured.Unstructured {
	return resource(v1alpha1.ValkeyConfigGVK, "standard", with(object{}, changes...))
}

// role returns a smallest ValkeyRole with changes to its spec.
func role(changes ...object) *unstructured.Unstructured {
	return resource(v1alpha1.ValkeyRoleGVK, "cache", with(object{}, changes...))
}

// binding returns a smallest ACL binding with changes.
func binding(changes ...object) object {
	base := object{"username": "app", "passwordHashes": list{hash}, "permissions": list{permission()}}
	return with(base, changes...)
}

// permission returns a smallest permission with changes.
func permission(changes ...object) object {
	return with(object{"roleRef": "cache", "keys": list{key("app:*")}}, changes...)
}

// key returns a key pattern.
func key(pattern string) object { return object{"pattern": pattern} }

// named returns a copy of an object with another name.
func named(u *unstructured.Unstructured, name string) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetName(name)
	return u
}

// create asks the API server to admit an object, without storing it, and
// returns it as admitted or why it was refused.
func create(u *unstructured.Unstructured) (*unstructured.Unstructured, []string) {
	u = u.DeepCopy()
	return u, causes(kube.Create(background, u, client.DryRunAll))
}

// update stores an object for the time of the test, asks the API server to
// admit the change to it and returns why it was refused.
func update(t *testing.T, before, after *unstructured.Unstructured) []string {
	t.Helper()
	before, after = before.DeepCopy(), after.DeepCopy()
	store(t, before)
	after.SetResourceVersion(before.GetResourceVersion())
	return causes(kube.Update(background, after))
}

// store creates an object for the time of the test.
func store(t *testing.T, o client.Object) {
	t.Helper()
	if err := kube.Create(background, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Delete(background, o); err != nil {
			t.Error(err)
		}
	})
}

// causes returns what a user reads when an object is refused, sorted.
func causes(err error) []string {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return []string{err.Error()}
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		// A limit was broken, so that the rules have not been asked.
		if strings.Contains(c.Message, "some validation rules were not checked") {
			continue
		}
		out = append(out, strings.TrimPrefix(c.Field+": "+c.Message, "<nil>: "))
	}
	slices.Sort(out)
	return out
}
