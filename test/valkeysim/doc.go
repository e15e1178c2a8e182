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

// Package valkeysim plays thousands of Valkey servers in one process, for tests of the provider at a scale at which real
// servers do not fit on a machine. The servers differ by the local address of their connections: they share the listeners.
//
// Only what the provider asks for is played. The servers hold no keys, gossip takes no time, and nobody fails over by
// itself: what becomes of a cluster is the provider's doing. Users may log in or not, but what they may do is not checked.
package valkeysim
