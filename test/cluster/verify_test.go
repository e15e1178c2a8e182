//go:build cluster

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

package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	vk "github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/acl"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

// connections to the Valkey servers, as the provider makes them.
var connections = valkey.NewPool(valkey.PoolOptions{})

// server returns a connection of the provider's own user to one member.
func (s *space) server(ctx context.Context, cluster string, pod *corev1.Pod) (*valkey.Node, error) {
	auth := &corev1.Secret{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: s.name, Name: manifest.AuthSecretName(cluster)}, auth); err != nil {
		return nil, err
	}
	cred := valkey.Credentials{Username: acl.OperatorUser, Password: string(auth.Data[manifest.KeyOperatorPassword])}
	return s.login(ctx, cluster, pod, cred)
}

// login returns a connection of a user to one member, by TLS if the cluster has
// it.
func (s *space) login(ctx context.Context, cluster string, pod *corev1.Pod, cred valkey.Credentials) (*valkey.Node, error) {
	ep := valkey.Endpoint{Addr: net.JoinHostPort(pod.Status.PodIP, "6379")}
	conf, err := s.tlsOf(ctx, cluster, pod)
	if err != nil || conf == nil {
		return connections.Node(ep, cred, nil), err
	}
	ep.ServerName = conf.ServerName
	return connections.Node(ep, cred, conf), nil
}

// tlsOf is how to connect to a member by TLS, nil if its cluster has none.
func (s *space) tlsOf(ctx context.Context, cluster string, pod *corev1.Pod) (*tls.Config, error) {
	c, err := s.get(ctx, cluster)
	if err != nil || c.Spec.TLS == nil {
		return nil, err
	}
	cp := &corev1.Secret{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: s.name, Name: manifest.TLSSecretName(cluster)}, cp); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cp.Data["ca.crt"])
	roots.AppendCertsFromPEM(cp.Data[manifest.KeyPreviousCA])
	return &tls.Config{RootCAs: roots, ServerName: s.host(cluster, pod.Name), MinVersion: tls.VersionTLS12}, nil
}

// A member is what one Valkey server says.
type member struct {
	node   v1alpha1.ValkeyNode
	pod    corev1.Pod
	state  *valkey.State
	config map[string]string
}

// members asks every member of a cluster. It is an error if one does not answer.
func (s *space) members(ctx context.Context, cluster string) ([]member, error) {
	nodes, err := s.nodes(ctx, cluster)
	if err != nil {
		return nil, err
	}
	var out []member
	for _, n := range nodes {
		m := member{node: n}
		if err := kube.Get(ctx, client.ObjectKeyFromObject(&n), &m.pod); err != nil {
			return nil, err
		}
		vn, err := s.server(ctx, cluster, &m.pod)
		if err != nil {
			return nil, err
		}
		if m.state, err = vn.State(ctx); err != nil {
			return nil, fmt.Errorf("member %s: %w", n.Name, err)
		}
		if m.config, err = vn.ConfigGet(ctx, "cluster-node-timeout"); err != nil {
			return nil, fmt.Errorf("member %s: %w", n.Name, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// verify checks on the servers themselves that a cluster is what its spec asks,
// and that a client can use it without a password.
func (s *space) verify(cluster string) {
	s.Helper()
	s.verifyAs(cluster, vk.ClientOption{})
}

// verifyAs is verify for clients that need TLS or a password.
func (s *space) verifyAs(cluster string, o vk.ClientOption) {
	s.Helper()
	if err := s.topology(s.Context(), cluster); err != nil {
		s.Errorf("ValkeyCluster %s: %v", cluster, err)
		return
	}
	if err := s.use(s.Context(), cluster, o); err != nil {
		s.Errorf("ValkeyCluster %s: %v", cluster, err)
	}
}

// topology returns everything in which the servers differ from the spec.
func (s *space) topology(ctx context.Context, cluster string) error {
	c, err := s.get(ctx, cluster)
	if err != nil {
		return err
	}
	ms, err := s.members(ctx, cluster)
	if err != nil {
		return err
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if want := int(c.Spec.Shards * (c.Spec.ReplicasPerShard + 1)); len(ms) != want {
		bad("%d members instead of %d", len(ms), want)
	}
	var names []string
	shards := map[int32][]member{}
	for _, m := range ms {
		names = append(names, m.node.Name)
		shards[m.node.Spec.ShardIndex] = append(shards[m.node.Spec.ShardIndex], m)
		errs = append(errs, checkMember(m, len(ms)))
		if a, b := view(ms[0].state), view(m.state); a != b {
			bad("%s sees\n%swhile %s sees\n%s", ms[0].node.Name, a, m.node.Name, b)
		}
	}
	if !slices.Equal(names, c.Status.Nodes) {
		bad("status.nodes is %v instead of %v", c.Status.Nodes, names)
	}
	if len(shards) != int(c.Spec.Shards) {
		bad("%d shards instead of %d", len(shards), c.Spec.Shards)
	}
	epochs := map[uint64]string{}
	for i, shard := range shards {
		errs = append(errs, checkShard(i, shard, int(c.Spec.ReplicasPerShard), epochs))
	}
	return errors.Join(errs...)
}

func checkMember(m member, n int) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(m.node.Name+": "+format, args...))
	}
	if !m.state.ClusterOK || m.state.SlotsAssigned != 16384 {
		bad("cluster ok: %t, %d slots assigned", m.state.ClusterOK, m.state.SlotsAssigned)
	}
	if m.state.KnownNodes != n {
		bad("knows %d nodes instead of %d", m.state.KnownNodes, n)
	}
	if m.config["cluster-node-timeout"] != "5000" {
		bad("cluster-node-timeout is %s", m.config["cluster-node-timeout"])
	}
	if m.node.Status.NodeID != m.state.ID {
		bad("has the node id %s, recorded is %q", m.state.ID, m.node.Status.NodeID)
	}
	if m.node.Spec.Lifecycle != v1alpha1.LifecycleActive {
		bad("lifecycle is %s", m.node.Spec.Lifecycle)
	}
	return errors.Join(errs...)
}

// checkShard checks that a shard is one primary with its replicas in sync.
func checkShard(index int32, ms []member, replicas int, epochs map[uint64]string) error {
	var primary *member
	for i := range ms {
		if ms[i].state.Replication.Role != valkey.RolePrimary {
			continue
		}
		if primary != nil {
			return fmt.Errorf("shard %d has two primaries, %s and %s", index, primary.node.Name, ms[i].node.Name)
		}
		primary = &ms[i]
	}
	if primary == nil {
		return fmt.Errorf("shard %d has no primary", index)
	}
	if len(primary.state.Myself().Slots) == 0 {
		return fmt.Errorf("primary %s of shard %d holds no slot", primary.node.Name, index)
	}
	if other := epochs[primary.state.MyEpoch]; other != "" {
		return fmt.Errorf("%s and %s have the same epoch %d", other, primary.node.Name, primary.state.MyEpoch)
	}
	epochs[primary.state.MyEpoch] = primary.node.Name
	if len(ms)-1 != replicas {
		return fmt.Errorf("shard %d has %d replicas instead of %d", index, len(ms)-1, replicas)
	}
	for _, m := range ms {
		if m.node.Name == primary.node.Name {
			continue
		}
		r := m.state.Replication
		if m.state.Myself().PrimaryID != primary.state.ID || !r.LinkUp || r.SyncInProgress {
			return fmt.Errorf("replica %s of shard %d follows %q instead of %s, link up: %t, syncing: %t",
				m.node.Name, index, m.state.Myself().PrimaryID, primary.state.ID, r.LinkUp, r.SyncInProgress)
		}
	}
	return nil
}

// view is what one server believes about the cluster, without what is about
// itself only.
func view(st *valkey.State) string {
	lines := map[string]string{}
	for _, p := range st.Nodes {
		lines[p.ID] = fmt.Sprintf("%s %s primary=%t of=%s healthy=%t slots=%s\n", p.ID, p.IP, p.Primary, p.PrimaryID, p.Healthy(), valkey.FormatSlotRanges(p.Slots))
	}
	out := strings.Builder{}
	for _, id := range slices.Sorted(maps.Keys(lines)) {
		out.WriteString(lines[id])
	}
	return out.String()
}

// address is where clients find a cluster.
func (s *space) address(cluster string) string {
	return fmt.Sprintf("%s.%s.svc.cluster.local:6379", cluster, s.name)
}

// dial returns a cluster-aware client.
func (s *space) dial(cluster string, o vk.ClientOption) (vk.Client, error) {
	o.InitAddress = []string{s.address(cluster)}
	o.DisableCache = true
	o.Dialer.Timeout = cmp.Or(o.Dialer.Timeout, 3*time.Second)
	return vk.NewClient(o)
}

// use writes and reads a thousand keys as a client does.
func (s *space) use(ctx context.Context, cluster string, o vk.ClientOption) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := s.dial(cluster, o)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer c.Close()
	const n = 1000
	var sets, gets vk.Commands
	for i := range n {
		k := fmt.Sprintf("key-%d", i)
		sets = append(sets, c.B().Set().Key(k).Value("value of "+k).Build())
		gets = append(gets, c.B().Get().Key(k).Build())
	}
	for _, r := range c.DoMulti(ctx, sets...) {
		if err := r.Error(); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	for i, r := range c.DoMulti(ctx, gets...) {
		v, err := r.ToString()
		if want := fmt.Sprintf("value of key-%d", i); err != nil || v != want {
			return fmt.Errorf("read: got %q instead of %q: %w", v, want, err)
		}
	}
	return nil
}
