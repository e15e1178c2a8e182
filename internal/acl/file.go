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
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// MaxFileSize is what fits into a Secret.
const MaxFileSize = 1 << 20

// A SizeError says that an ACL file does not fit into a Secret.
type SizeError struct{ Size int }

// Error returns the sentence that users read.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the ACL file would have %d bytes and at most %d fit into a Secret: use fewer or shorter ACL bindings", e.Size, MaxFileSize)
}

// File writes users.acl with all that Complete returns, and checks it.
func File(users []User, sys System, version string) (string, error) {
	all := Complete(users, sys, version)
	b := &strings.Builder{}
	for _, u := range all {
		b.WriteString("user " + u.Name)
		for _, r := range u.Rules {
			b.WriteString(" " + r)
		}
		b.WriteByte('\n')
	}
	file := b.String()
	if len(file) > MaxFileSize {
		return "", &SizeError{Size: len(file)}
	}
	if err := Verify(file); err != nil {
		return "", err
	}
	// The file is well formed. It must also say what was meant.
	read, err := parse(file)
	if err != nil {
		return "", err
	}
	same := func(a, b User) bool { return a.Name == b.Name && slices.Equal(a.Rules, b.Rules) }
	if !slices.EqualFunc(read, all, same) {
		return "", fmt.Errorf("the ACL file would not say what its users were given")
	}
	return file, nil
}

// Fingerprint returns a short digest of a file, to tell whether it changed.
func Fingerprint(file string) string {
	sum := sha256.Sum256([]byte(file))
	return hex.EncodeToString(sum[:16])
}
