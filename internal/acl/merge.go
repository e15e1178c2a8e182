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

package acl

import (
	"fmt"
	"slices"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// A DuplicateError says that two bindings define the same user.
type DuplicateError struct{ Username string }

// Error returns the sentence that users read.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("duplicate username %q in merged ACL bindings", e.Username)
}

// Merge joins the bindings of a configuration with those of a cluster. Its
// error, if any, is a *DuplicateError.
func Merge(config, cluster []v1alpha1.ACLBinding) ([]v1alpha1.ACLBinding, error) {
	all := slices.Concat(config, cluster)
	seen := make(map[string]bool, len(all))
	for _, b := range all {
		if seen[b.Username] {
			return nil, &DuplicateError{Username: b.Username}
		}
		seen[b.Username] = true
	}
	return all, nil
}
