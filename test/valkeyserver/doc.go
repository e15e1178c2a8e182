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

// Package valkeyserver starts real valkey-server processes for tests, of the versions that the provider supports. Each
// server has an IP address of its own on the loopback network and listens on port 6379, as pods do. Servers end with the
// test that started them.
//
// The binaries come from root file systems below the directory in VALKEY_TEST_ROOTFS, by default
// ${XDG_CACHE_HOME:-$HOME/.cache}/provider-valkey/rootfs, named valkey-8.0, valkey-8.1 and valkey-9.1.
package valkeyserver
