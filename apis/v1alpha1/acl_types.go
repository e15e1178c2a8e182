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

// An AccessMode says what a user may do with the keys that match a pattern.
// +kubebuilder:validation:Enum=read;write;readwrite
type AccessMode string

// Access modes of a KeyPattern.
const (
	AccessRead      AccessMode = "read"
	AccessWrite     AccessMode = "write"
	AccessReadWrite AccessMode = "readwrite"
)

// A KeyPattern grants access to the keys that match a glob pattern.
type KeyPattern struct {
	// Pattern is a key glob, for example myapp:*. The ~ prefix is added by the
	// provider and must not be part of it.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r"""[\p{Cc} '"]""")`,message="a key pattern must not contain control characters, spaces or quotes"
	Pattern string `json:"pattern"`

	// Access is the access mode for matching keys: read, write or readwrite.
	// +kubebuilder:default=readwrite
	// +optional
	Access AccessMode `json:"access,omitempty"`
}

// A Permission binds the commands of a ValkeyRole to keys and channels.
type Permission struct {
	// RoleRef names the ValkeyRole that supplies the commands and categories.
	// +kubebuilder:validation:MaxLength=253
	RoleRef string `json:"roleRef"`

	// Keys lists the key patterns that the commands may touch. An empty list
	// grants access to no key.
	// +kubebuilder:validation:MaxItems=16
	Keys []KeyPattern `json:"keys"`

	// Channels lists Pub/Sub channel patterns, without the & prefix. Without it
	// no channel is accessible.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Channels []ChannelPattern `json:"channels,omitempty"`
}

// A ChannelPattern is a Pub/Sub channel glob without its & prefix.
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule=`!self.matches(r"""[\p{Cc} '"]""")`,message="a channel pattern must not contain control characters, spaces or quotes"
type ChannelPattern string

// The maximum length only bounds the cost of the rule. It is above 64 so that
// the rule, which says what a hash is, answers to one that is a little too long.

// A PasswordHash is the SHA-256 of a password in lowercase hexadecimal.
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="a password hash must be exactly 64 lowercase hexadecimal characters, the SHA-256 of the password"
type PasswordHash string

// An ACLBinding is a Valkey user with its passwords and permissions.
type ACLBinding struct {
	// Username is the name of the Valkey user: letters, digits, hyphens and
	// underscores. Names that start with _momento_ belong to the provider.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9_-]+$')",message="username must not be empty and may contain only letters, digits, hyphens and underscores"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('_momento_')",message="username must not start with _momento_, which is reserved for system users"
	Username string `json:"username"`

	// PasswordHashes holds SHA-256 digests of the user's passwords, each of 64
	// lowercase hexadecimal characters and without the # prefix. Several hashes
	// are valid at once, which makes rotation possible.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	PasswordHashes []PasswordHash `json:"passwordHashes"`

	// Permissions of the user. The first one becomes the user's root rules and
	// each further one a selector with its own keys and channels.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="permissions must have at least one entry"
	Permissions []Permission `json:"permissions"`
}
