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

package main

import (
	"fmt"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/version"
)

// changeLog has the controllers send what they changed to Crossplane's sidecar. A
// sidecar that is not there yet is no error; it is tried again at every change.
func changeLog(o *common.Options, socket string) (closeLog func(), err error) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("cannot use the change log at %s: %w", socket, err)
	}
	o.Features.Enable(feature.EnableAlphaChangeLogs)
	o.ChangeLogOptions = &xpcontroller.ChangeLogOptions{ChangeLogger: managed.NewGRPCChangeLogger(
		changelogs.NewChangeLogServiceClient(conn), managed.WithProviderVersion("provider-valkey:"+version.Version))}
	return func() { _ = conn.Close() }, nil
}
