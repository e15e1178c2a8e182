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

package valkey

import (
	"context"
)

// FunctionDump returns all libraries of functions of the server, for FunctionRestore. Only a server of the same or a newer
// version understands it.
func (n *Node) FunctionDump(ctx context.Context) (string, error) {
	return n.text(ctx, command("FUNCTION", "DUMP"))
}

// FunctionRestore adds the libraries of FunctionDump to those of the server. Libraries of the same name are replaced.
func (n *Node) FunctionRestore(ctx context.Context, dump string) error {
	return n.ok(ctx, call{args: []string{"FUNCTION", "RESTORE", dump, "REPLACE"}, what: "FUNCTION RESTORE"})
}
