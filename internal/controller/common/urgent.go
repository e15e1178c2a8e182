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
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// urgency is the priority of urgent requests. All others have 0 or less.
const urgency = 100

// Urgent lets requests that cannot wait overtake all others, however many there
// are: they come first in the queue, and the limit of passes a second does not
// hold for them.
type Urgent struct {
	mu       sync.Mutex
	requests map[reconcile.Request]bool
}

// NewUrgent returns an Urgent without requests.
func NewUrgent() *Urgent { return &Urgent{requests: map[reconcile.Request]bool{}} }

// Add puts urgent requests into a queue.
func (u *Urgent) Add(q workqueue.TypedRateLimitingInterface[reconcile.Request], rs ...reconcile.Request) {
	u.mu.Lock()
	for _, r := range rs {
		u.requests[r] = true
	}
	u.mu.Unlock()
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: new(urgency)}, rs...)
		return
	}
	for _, r := range rs {
		q.Add(r)
	}
}

func (u *Urgent) take(r reconcile.Request) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.requests[r]
	delete(u.requests, r)
	return taken
}

// Reconciler returns one that hands urgent requests to the first of two and all
// others to the second, the limited one.
func (u *Urgent) Reconciler(free, limited reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		if !u.take(r) {
			return limited.Reconcile(ctx, r)
		}
		out, err := free.Reconcile(ctx, r)
		// The next pass has to be asked for again if it is urgent too.
		out.Priority = new(0)
		return out, err
	})
}
