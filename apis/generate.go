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

// Package apis generates what the API types imply: their deep copies and the
// CustomResourceDefinitions of the package.
package apis

// A definition of a kind that is gone must not stay in the package.
//go:generate rm -rf ../package/crds

//go:generate go tool controller-gen object:headerFile=../hack/boilerplate.go.txt paths=./v1alpha1
//go:generate go tool controller-gen crd:crdVersions=v1 paths=./v1alpha1 output:crd:artifacts:config=../package/crds
