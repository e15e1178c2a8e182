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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all kinds.
const Group = "valkey.gomomento.com"

// GroupVersion is the group and version of all kinds.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// GroupVersionKinds of all kinds.
var (
	ValkeyClusterGVK = GroupVersion.WithKind("ValkeyCluster")
	ValkeyNodeGVK    = GroupVersion.WithKind("ValkeyNode")
	ValkeyImageGVK   = GroupVersion.WithKind("ValkeyImage")
	ValkeyConfigGVK  = GroupVersion.WithKind("ValkeyConfig")
	ValkeyRoleGVK    = GroupVersion.WithKind("ValkeyRole")
)

// AddToScheme adds all kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ValkeyCluster{}, &ValkeyClusterList{},
		&ValkeyNode{}, &ValkeyNodeList{},
		&ValkeyImage{}, &ValkeyImageList{},
		&ValkeyConfig{}, &ValkeyConfigList{},
		&ValkeyRole{}, &ValkeyRoleList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
