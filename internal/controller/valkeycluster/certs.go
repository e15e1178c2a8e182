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
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/servingcert"
	"github.com/crossplane-contrib/provider-valkey/internal/settings"
)

const (
	// annotationCert tells which certificate a pod was last given. A change of
	// an annotation makes the kubelet look at the pod's Secrets at once instead
	// of within a minute.
	annotationCert = "valkey.gomomento.com/serving-cert"
	// mountPatience is how long after that a file may still be the old one. A CA
	// is not seen in a handshake: it is read again until then.
	mountPatience = 10 * time.Second
)

// dueCerts returns the nodes that are not known to serve the certificate of the
// cluster's Secret.
func (f *findings) dueCerts(m *memory, state v1alpha1.ClusterState) []*node {
	if f.resolved == nil || f.resolved.tls == nil {
		return nil
	}
	var out []*node
	for _, n := range f.nodes {
		if n.state == nil || n.pod.DeletionTimestamp != nil || !n.cared(state) {
			continue
		}
		if m.applied(n.obj, certKey(n)) != f.resolved.cert.Fingerprint {
			out = append(out, n)
		}
	}
	return out
}

// previousCA returns the authorities by which members are verified beside those
// of the Secret: until all of them are known to serve its certificate, some may
// serve one of an authority that the Secret does not name any more.
func (e *external) previousCA(ctx context.Context, c *v1alpha1.ValkeyCluster, r *resolved, nodes []*node) ([]byte, error) {
	have := &corev1.Secret{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: c.GetNamespace(), Name: manifest.TLSSecretName(c.GetName())}, have)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("cannot read the copy of the TLS Secret: %w", err)
	}
	was, is, before := have.Data[servingcert.KeyCA], r.tls[servingcert.KeyCA], have.Data[manifest.KeyPreviousCA]
	if !bytes.Equal(was, is) {
		return servingcert.Without(is, was, before), nil
	}
	behind := func(n *node) bool {
		return n.state == nil || e.memory.applied(n.obj, certKey(n)) != r.cert.Fingerprint
	}
	if slices.ContainsFunc(nodes, behind) {
		return before, nil
	}
	return nil, nil
}

func certKey(n *node) string { return "cert/" + n.state.RunID }

// applyCert makes a running server read its certificate files again, without a
// restart and without a connection lost, and remembers it once the server was
// seen to serve the new one.
func (e *external) applyCert(ctx context.Context, c *v1alpha1.ValkeyCluster, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	want := e.found.resolved.cert.Fingerprint
	fresh := n.pod.GetAnnotations()[annotationCert] != want
	if fresh {
		if err := e.annotateCert(ctx, n, want); err != nil {
			return err
		}
		e.memory.cool(n.obj, certKey(n)+want, 0)
	}
	files := map[string]string{
		"tls-cert-file":    settings.TLSDir + "/tls.crt",
		"tls-key-file":     settings.TLSDir + "/tls.key",
		"tls-ca-cert-file": settings.TLSDir + "/ca.crt",
	}
	if err := e.conn(c, n).Expecting(n.id()).ConfigSet(ctx, files); err != nil {
		return fmt.Errorf("cannot make %s read its certificate again: %w", n.obj.GetName(), err)
	}
	serves, err := e.serves(ctx, c, n)
	if err != nil || !serves || fresh {
		return err
	}
	if e.memory.cooling(n.obj, certKey(n)+want, mountPatience) {
		return nil
	}
	e.memory.apply(n.obj, certKey(n), want)
	return nil
}

func (e *external) annotateCert(ctx context.Context, n *node, fingerprint string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotationCert: fingerprint}}})
	if err != nil {
		return err
	}
	pod := &corev1.Pod{}
	pod.SetName(n.pod.GetName())
	pod.SetNamespace(n.pod.GetNamespace())
	if err := e.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot annotate pod %s: %w", n.pod.GetName(), err)
	}
	return nil
}

// serves tells whether a server presents the certificate of the cluster's Secret.
func (e *external) serves(ctx context.Context, c *v1alpha1.ValkeyCluster, n *node) (bool, error) {
	ep := e.endpoint(c, n)
	conf := e.tls.Clone()
	conf.ServerName = ep.ServerName
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: probeTimeout}, Config: conf}).DialContext(ctx, "tcp", ep.Addr)
	if err != nil {
		return false, fmt.Errorf("cannot check the certificate of %s: %w", n.obj.GetName(), err)
	}
	defer func() { _ = conn.Close() }()
	tc, ok := conn.(*tls.Conn)
	if !ok {
		return false, nil
	}
	block, _ := pem.Decode(e.found.resolved.tls[corev1.TLSCertKey])
	peers := tc.ConnectionState().PeerCertificates
	return block != nil && len(peers) > 0 && bytes.Equal(peers[0].Raw, block.Bytes), nil
}
