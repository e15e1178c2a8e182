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

package common

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/apimachinery/pkg/runtime"
)

// A ChangeRecorder drops the events that crossplane-runtime sends on every pass
// although nothing happened. Unlike filters of an event.APIRecorder it survives
// WithAnnotations.
type ChangeRecorder struct {
	event.Recorder
}

// perPass are the reasons that tell of a pass and not of a change.
func perPass(r event.Reason) bool {
	switch r {
	case "DeletedExternalResource", "CreatedExternalResource", "UpdatedExternalResource", "PendingExternalResource", "ReconciliationPaused":
		return true
	}
	return false
}

// Event records an event unless it only tells of a pass.
func (r ChangeRecorder) Event(obj runtime.Object, e event.Event) {
	if perPass(e.Reason) {
		return
	}
	r.Recorder.Event(obj, e)
}

// WithAnnotations returns a ChangeRecorder with more annotations.
func (r ChangeRecorder) WithAnnotations(keysAndValues ...string) event.Recorder {
	return ChangeRecorder{Recorder: r.Recorder.WithAnnotations(keysAndValues...)}
}
