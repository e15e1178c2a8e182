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

package valkeycluster

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// A deathWatch holds an idle connection to every primary, so that the end of a
// process is heard of at once. That a connection ended is only a hint: it wakes
// the cluster's next pass, which asks for other signs.
type deathWatch struct {
	mu       sync.Mutex
	watches  map[string]*watch
	woken    chan event.TypedGenericEvent[*v1alpha1.ValkeyCluster]
	lifetime context.Context //nolint:containedctx // It ends with the process; watches outlive the passes that start them.
}

// A watch is the idle connection to one process.
type watch struct {
	cancel context.CancelFunc
	ended  bool
}

func newDeathWatch(ctx context.Context) *deathWatch {
	return &deathWatch{watches: map[string]*watch{}, woken: make(chan event.TypedGenericEvent[*v1alpha1.ValkeyCluster], 1024), lifetime: ctx}
}

// processKey identifies one process: a pod has only one in its life.
func processKey(n *node) string { return string(n.obj.GetUID()) }

// follow watches the primaries of a cluster that are not watched yet, and stops
// to watch members that are primaries no longer.
func (d *deathWatch) follow(c *v1alpha1.ValkeyCluster, nodes []*node, conn func(*node) *valkey.Node) {
	for _, n := range nodes {
		switch {
		case n.state == nil:
			continue
		case n.role() != v1alpha1.RolePrimary:
			d.drop(processKey(n))
		case !d.has(processKey(n)):
			d.start(c, n, conn(n))
		}
	}
}

func (d *deathWatch) has(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.watches[key]
	return w != nil && !w.ended
}

func (d *deathWatch) start(c *v1alpha1.ValkeyCluster, n *node, vk *valkey.Node) {
	ctx, cancel := context.WithCancel(d.lifetime)
	ended, err := vk.Watch(ctx)
	if err != nil {
		cancel()
		return
	}
	w := &watch{cancel: cancel}
	d.mu.Lock()
	d.watches[processKey(n)] = w
	d.mu.Unlock()
	wake := &v1alpha1.ValkeyCluster{}
	wake.SetName(c.GetName())
	wake.SetNamespace(c.GetNamespace())
	go func() {
		defer cancel()
		inOrder, told := <-ended
		if !told {
			return
		}
		d.ended(processKey(n), w, inOrder)
		select {
		case d.woken <- event.TypedGenericEvent[*v1alpha1.ValkeyCluster]{Object: wake}:
		case <-ctx.Done():
		}
	}()
}

// ended notes that a process ended its connection. A broken connection says nothing
// about the process: a firewall that begins to refuse breaks it too.
func (d *deathWatch) ended(key string, w *watch, inOrder bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if inOrder {
		w.ended = true
		return
	}
	if d.watches[key] == w {
		delete(d.watches, key)
	}
}

// heard tells whether the connection to a process was ended by the other side.
func (d *deathWatch) heard(n *node) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.watches[processKey(n)]
	return w != nil && w.ended
}

// deaths returns a function that tells whether the connection to a process of these
// has been ended since.
func (d *deathWatch) deaths(nodes []*node) func() bool {
	count := func() int {
		n := 0
		for _, o := range nodes {
			if d.heard(o) {
				n++
			}
		}
		return n
	}
	before := count()
	return func() bool { return count() > before }
}

func (d *deathWatch) drop(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.watches[key]; w != nil {
		w.cancel()
		delete(d.watches, key)
	}
}
