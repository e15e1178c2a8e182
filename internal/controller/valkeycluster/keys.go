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
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
)

// Keys are the Secret with the passwords of the system users and its second
// copy, as they should be. Servers keep only hashes, so that whoever loses the
// passwords is locked out of all of them for good: each copy is made again from
// the other one.
type keys struct {
	auth, backup *corev1.Secret
	// made tells that auth is not stored yet.
	made    bool
	changes []change
	// logins are the passwords that members may accept.
	logins []string
}

// readKeys reads the passwords, or finds them again, or makes them.
func (e *external) readKeys(ctx context.Context, c *v1alpha1.ValkeyCluster) (*keys, error) {
	auth, err := e.ownSecret(ctx, c, manifest.AuthSecretName(c.GetName()))
	if err != nil {
		return nil, err
	}
	backup, err := e.ownSecret(ctx, c, manifest.AuthBackupName(c.GetName()))
	if err != nil {
		return nil, err
	}
	out := &keys{auth: auth, backup: backup}
	rings := make([]ring, 0, 3)
	for _, s := range []*corev1.Secret{auth, backup} {
		if s != nil {
			rings = append(rings, ringOf(s.Data))
		}
	}
	rings = append(rings, e.memory.ring(c))
	if err := out.mendAuth(c, rings); err != nil {
		return nil, err
	}
	out.mendBackup(c)
	out.logins = logins(append([]ring{ringOf(out.auth.Data)}, rings...)...)
	return out, nil
}

// mendAuth makes the Secret if it is missing, and fills it if somebody emptied
// it: with the passwords that are known from elsewhere, else with new ones.
func (k *keys) mendAuth(c *v1alpha1.ValkeyCluster, known []ring) error {
	if k.auth != nil && ringOf(k.auth.Data).current.complete() {
		return nil
	}
	use := ring{}
	for _, r := range known {
		if r.current.complete() {
			use = r
			break
		}
	}
	if !use.current.complete() {
		var err error
		if use.current, err = newPair(); err != nil {
			return err
		}
	}
	s, verb := manifest.AuthSecret(c, use.data()), verbCreate
	s.Annotations = map[string]string{manifest.AnnotationRotatedFor: c.GetAnnotations()[manifest.AnnotationRotate]}
	if k.backup != nil {
		s.Annotations = k.backup.Annotations
	}
	if k.auth != nil {
		s.SetResourceVersion(k.auth.GetResourceVersion())
		verb = verbUpdate
	}
	k.auth, k.made = s, true
	k.changes = append(k.changes, change{obj: s, verb: verb})
	return nil
}

// mendBackup makes the second copy if it is missing. What it holds is replaced
// only when servers are known to accept the new.
func (k *keys) mendBackup(c *v1alpha1.ValkeyCluster) {
	if k.backup != nil && ringOf(k.backup.Data).current.complete() {
		return
	}
	s, verb := manifest.AuthBackup(c, k.auth), verbCreate
	if k.backup != nil {
		s.SetResourceVersion(k.backup.GetResourceVersion())
		verb = verbUpdate
	}
	k.backup = s
	k.changes = append(k.changes, change{obj: s, verb: verb})
}

// ownSecret returns a Secret of the cluster, or nil if there is none.
func (e *external) ownSecret(ctx context.Context, c *v1alpha1.ValkeyCluster, name string) (*corev1.Secret, error) {
	have := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.GetNamespace(), Name: name}
	err := e.client.Get(ctx, key, have)
	if kerrors.IsNotFound(err) {
		// Passwords are random: the cache must not decide that there are none.
		err = e.live.Get(ctx, key, have)
	}
	if kerrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read Secret %s: %w", name, err)
	}
	if !metav1.IsControlledBy(have, c) {
		return nil, foreign(have, c)
	}
	return have, nil
}

// turnKeys adds to the changes what has to be written to replace passwords, or to
// keep the second copy of them up to date.
func (e *external) turnKeys(c *v1alpha1.ValkeyCluster, state v1alpha1.ClusterState, now time.Time) error {
	f := &e.found
	if state != v1alpha1.StateActive || !f.keysSettled() {
		return nil
	}
	k := f.keys
	if !sameKeys(k.auth, k.backup) {
		s := manifest.AuthBackup(c, k.auth)
		s.SetResourceVersion(k.backup.GetResourceVersion())
		f.changes = append(f.changes, change{obj: s, verb: verbUpdate})
		return nil
	}
	r := rotation{request: c.GetAnnotations()[manifest.AnnotationRotate], maxAge: e.options.MaxPasswordAge, now: now}
	s, told, err := r.step(k.auth)
	if s == nil || err != nil {
		return err
	}
	ch := change{obj: s, verb: verbUpdate}
	if told != "" {
		ev := event.Normal("RotatingPasswords", told)
		ch.tell = &ev
	}
	f.changes = append(f.changes, ch)
	return nil
}

// keysSettled tells whether every member that may come back is known to accept
// all passwords of the Secret and to log in to others with the current one, as
// do the files with which a new member starts.
func (f *findings) keysSettled() bool {
	if f.template == nil || len(f.changes)+len(f.aclDue) > 0 || len(f.members) == 0 {
		return false
	}
	for i := range f.members {
		if f.members[i].Pod != topology.PodDead && (f.nodes[i].state == nil || f.nodes[i].state.Loading) {
			return false
		}
	}
	return true
}
