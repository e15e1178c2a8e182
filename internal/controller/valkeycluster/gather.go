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
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/servingcert"
	"github.com/crossplane-contrib/provider-valkey/internal/settings"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

const (
	keyNodeTimeout = "cluster-node-timeout"
	keySyncDelay   = "repl-diskless-sync-delay"
	// defaultSyncDelay is Valkey's default of repl-diskless-sync-delay.
	defaultSyncDelay = 5 * time.Second
	// probeTimeout bounds what one silent process costs a pass.
	probeTimeout = 1500 * time.Millisecond
)

// A node is one member with all that was found of it.
type node struct {
	obj *v1alpha1.ValkeyNode
	pod *corev1.Pod
	// host is where the pod runs, if it runs anywhere.
	host  common.Host
	state *valkey.State
	err   error
	// timers as the process has them.
	timeout, delay time.Duration
	// acl are the server's users as it lists them.
	acl []string
	// words are the last ones in the log of a newcomer that does not sync.
	words string
	// password is the one that the process let us in with.
	password string
}

// gather collects the cluster's nodes and pods from the cache and asks every
// process that may answer, all at once.
func (e *external) gather(ctx context.Context, c *v1alpha1.ValkeyCluster, k *keys, ca []byte) ([]*node, error) {
	nodes, err := e.list(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := e.findHosts(ctx, nodes); err != nil || k == nil {
		return nodes, err
	}
	e.keys, e.tls = k, clientTLS(c, ca)
	g := errgroup.Group{}
	g.SetLimit(64)
	for _, n := range nodes {
		if !reachable(n) {
			continue
		}
		g.Go(func() error {
			e.probe(ctx, c, n)
			return nil
		})
	}
	err = g.Wait()
	e.remember(c, nodes)
	e.readLogs(ctx, c, nodes, time.Now())
	return nodes, err
}

// remember keeps the passwords with which members let us in. It is a third copy
// of them, for as long as the provider runs.
func (e *external) remember(c *v1alpha1.ValkeyCluster, nodes []*node) {
	now := ringOf(e.keys.auth.Data)
	if !e.keys.made && slices.ContainsFunc(nodes, func(n *node) bool { return n.state != nil && n.password == now.current.operator }) {
		e.memory.keep(c, now)
	}
}

// list returns the cluster's own nodes, sorted by name, with their pods.
func (e *external) list(ctx context.Context, c *v1alpha1.ValkeyCluster) ([]*node, error) {
	in, match := client.InNamespace(c.GetNamespace()), client.MatchingLabels{manifest.LabelInstance: c.GetName()}
	nl, pl := &v1alpha1.ValkeyNodeList{}, &corev1.PodList{}
	if err := e.client.List(ctx, nl, in, match); err != nil {
		return nil, fmt.Errorf("cannot list ValkeyNodes: %w", err)
	}
	if err := e.client.List(ctx, pl, in, match); err != nil {
		return nil, fmt.Errorf("cannot list pods: %w", err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range pl.Items {
		pods[pl.Items[i].Name] = &pl.Items[i]
	}
	var out []*node
	for i := range nl.Items {
		n := &node{obj: &nl.Items[i]}
		if !metav1.IsControlledBy(n.obj, c) {
			continue
		}
		if p := pods[n.obj.Name]; p != nil && metav1.IsControlledBy(p, n.obj) {
			n.pod = p
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *node) int { return cmp.Compare(a.obj.Name, b.obj.Name) })
	return out, nil
}

// findHosts looks up the Kubernetes nodes that the pods run on.
func (e *external) findHosts(ctx context.Context, nodes []*node) error {
	hosts := map[string]common.Host{}
	for _, n := range nodes {
		if n.pod == nil || n.pod.Spec.NodeName == "" {
			continue
		}
		h, ok := hosts[n.pod.Spec.NodeName]
		if !ok {
			var err error
			if h, err = common.FindHost(ctx, e.client, e.live, n.pod.Spec.NodeName); err != nil {
				return err
			}
			hosts[n.pod.Spec.NodeName] = h
		}
		n.host = h
	}
	return nil
}

// clientTLS is how the provider speaks to the members: verified against the CA
// of the cluster's Secret.
func clientTLS(c *v1alpha1.ValkeyCluster, ca []byte) *tls.Config {
	if c.Spec.TLS == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{
		RootCAs:    pool,
		MinVersion: tls.VersionTLS12,
		// VerifyConnection below verifies instead.
		InsecureSkipVerify: true, //nolint:gosec // See VerifyConnection.
		VerifyConnection: func(s tls.ConnectionState) error {
			return servingcert.VerifyMember(s.PeerCertificates, pool, s.ServerName, time.Now())
		},
	}
}

// reachable tells whether it makes sense to ask the member's process.
func reachable(n *node) bool {
	return n.pod != nil && n.pod.Status.PodIP != "" && !common.PodEnded(n.pod) && running(n.pod)
}

func running(p *corev1.Pod) bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == common.ContainerName {
			return c.State.Running != nil
		}
	}
	return false
}

func (e *external) endpoint(c *v1alpha1.ValkeyCluster, n *node) valkey.Endpoint {
	ep := valkey.Endpoint{Addr: net.JoinHostPort(n.pod.Status.PodIP, strconv.Itoa(settings.Port))}
	if c.Spec.TLS != nil {
		ep.ServerName = fmt.Sprintf("%s.%s.%s.svc.cluster.local", n.obj.Name, c.GetName(), c.GetNamespace())
	}
	return ep
}

func (e *external) conn(c *v1alpha1.ValkeyCluster, n *node) *valkey.Node {
	cred := valkey.Credentials{Username: operatorUser, Password: cmp.Or(n.password, e.keys.logins[0])}
	return e.options.Pool.Node(e.endpoint(c, n), cred, e.tls)
}

// enter asks a process for its state, with the first password that it accepts.
func (e *external) enter(ctx context.Context, c *v1alpha1.ValkeyCluster, n *node) (st *valkey.State, care valkey.Care, err error) {
	for _, n.password = range e.keys.logins {
		if st, care, err = e.conn(c, n).Look(ctx, keyNodeTimeout, keySyncDelay); !valkey.IsAuth(err) {
			return st, care, err
		}
	}
	return nil, valkey.Care{}, err
}

func (e *external) probe(ctx context.Context, c *v1alpha1.ValkeyCluster, n *node) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	st, care, err := e.enter(ctx, c, n)
	if err != nil {
		n.err = err
		return
	}
	n.timeout = duration(care.Settings[keyNodeTimeout], time.Millisecond)
	n.delay = duration(care.Settings[keySyncDelay], time.Second)
	n.acl = care.Users
	n.state = st
}

func duration(s string, unit time.Duration) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return time.Duration(n) * unit
}
