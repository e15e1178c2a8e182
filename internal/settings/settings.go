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

// Package settings turns the engine settings of a configuration into those that
// a member runs and into the text of its valkey.conf. It is pure.
package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// validKey matches what every directive of Valkey's own looks like. It keeps
// blanks, quotes and line breaks out of the file's first column.
var validKey = regexp.MustCompile(`^[a-z0-9-]+$`)

// An Input is what a member's settings depend on.
type Input struct {
	// User holds the settings of the resolved configuration.
	User map[string]string

	// TLS is whether the cluster serves TLS.
	TLS bool

	// Cluster, Namespace and Node name the member.
	Cluster, Namespace, Node string
}

// A Rendered is what a member runs.
type Rendered struct {
	// Settings are the user's with the forced ones in, without secrets. They are
	// the same for all members of a cluster but for those that PerNode names.
	Settings map[string]string

	// Overridden names, sorted, the user's keys that lost against a forced value
	// which differs.
	Overridden []string
}

// A RefusedError names settings that may not be set.
type RefusedError struct{ Keys []string }

// Error says for each key why it is refused and what to do.
func (e *RefusedError) Error() string {
	msgs := make([]string, 0, len(e.Keys))
	for _, k := range e.Keys {
		why, _ := Refusal(k)
		msgs = append(msgs, fmt.Sprintf("setting %q is refused: %s", k, why))
	}
	return strings.Join(msgs, "; ")
}

// An InvalidKeyError names settings that cannot be Valkey directives.
type InvalidKeyError struct{ Keys []string }

// Error says what a key must look like.
func (e *InvalidKeyError) Error() string {
	return fmt.Sprintf("%s cannot be a Valkey setting: names consist of letters, digits and hyphens", quoteAll(e.Keys))
}

// A DuplicateKeyError names settings that differ in case only.
type DuplicateKeyError struct{ Keys []string }

// Error says that one of the keys must go.
func (e *DuplicateKeyError) Error() string {
	return fmt.Sprintf("%s name the same Valkey setting, keep one of them", quoteAll(e.Keys))
}

// Render merges a user's settings with the forced ones. Its error, if any, is an
// *InvalidKeyError, a *DuplicateKeyError or a *RefusedError.
func Render(in Input) (Rendered, error) {
	user, err := normalize(in.User)
	if err != nil {
		return Rendered{}, err
	}
	forced := Forced(in)
	out := Rendered{Settings: map[string]string{}}
	var refused []string
	for _, key := range slices.Sorted(maps.Keys(user)) {
		want, isForced := forced[key]
		_, isRefused := Refusal(key)
		switch {
		case isForced && want == user[key]:
		case isForced, key == keyPrimaryAuth:
			out.Overridden = append(out.Overridden, key)
		case isRefused:
			refused = append(refused, key)
		default:
			out.Settings[key] = user[key]
		}
	}
	if len(refused) > 0 {
		return Rendered{}, &RefusedError{Keys: refused}
	}
	maps.Copy(out.Settings, forced)
	return out, nil
}

// normalize brings keys to lower case, in which Valkey reads them.
func normalize(user map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(user))
	from := make(map[string]string, len(user))
	var invalid []string
	for _, key := range slices.Sorted(maps.Keys(user)) {
		k := strings.ToLower(key)
		if !validKey.MatchString(k) {
			invalid = append(invalid, key)
			continue
		}
		if first, ok := from[k]; ok {
			return nil, &DuplicateKeyError{Keys: []string{first, key}}
		}
		from[k] = key
		out[k] = user[key]
	}
	if len(invalid) > 0 {
		return nil, &InvalidKeyError{Keys: invalid}
	}
	return out, nil
}

func quoteAll(keys []string) string {
	q := make([]string, len(keys))
	for i, k := range keys {
		q[i] = fmt.Sprintf("%q", k)
	}
	return strings.Join(q, ", ")
}
