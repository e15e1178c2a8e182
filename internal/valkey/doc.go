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

// Package valkey talks to Valkey servers. It is the only package of the provider that speaks RESP: one node's typed
// commands, parsed replies, and pooled connections.
//
// A Pool holds connections, a Node is a cheap handle on one server. Every command has a deadline of its own, so that
// a server that stopped answering never holds up its caller, and every error says what was tried and on which address.
// Passwords never appear in errors.
//
// Replies are data from a process that may be wrong about the world: parsers are pure functions that report what they
// do not understand and never panic.
package valkey
