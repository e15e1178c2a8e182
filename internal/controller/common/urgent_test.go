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
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// TestUrgentComesFirst has an urgent request overtake those that came before.
func TestUrgentComesFirst(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	u := NewUrgent()
	q.Add(request("a"))
	q.Add(request("b"))
	u.Add(q, request("c"))
	u.Add(q, request("b"))
	var got []string
	for range 3 {
		r, _ := q.Get()
		got = append(got, r.Name)
		q.Done(r)
	}
	if diff := cmp.Diff([]string{"c", "b", "a"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestUrgentReconciler(t *testing.T) {
	broken := errors.New("broken")
	free := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Second}, broken
	})
	limited := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Minute}, nil
	})
	u := NewUrgent()
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	u.Add(q, request("a"))
	r := u.Reconciler(free, limited)
	steps := []struct {
		reason, name string
		want         reconcile.Result
		err          error
	}{
		{"A request that is not urgent is limited.", "b", reconcile.Result{RequeueAfter: time.Minute}, nil},
		{"An urgent one is not. What follows from it is not urgent by itself.", "a", reconcile.Result{RequeueAfter: time.Second, Priority: new(0)}, broken},
		{"It is urgent once.", "a", reconcile.Result{RequeueAfter: time.Minute}, nil},
	}
	for _, s := range steps {
		got, err := r.Reconcile(t.Context(), request(s.name))
		if diff := cmp.Diff(s.want, got); diff != "" || !errors.Is(err, s.err) {
			t.Errorf("%s Reconcile(%s): %v, -want, +got:\n%s", s.reason, s.name, err, diff)
		}
	}
}
