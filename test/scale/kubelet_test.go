//go:build scale

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

package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/test/valkeysim"
)

const (
	// zones and hostsPerZone are the Kubernetes nodes that pods run on.
	zones        = 3
	hostsPerZone = 10
	// kubeletWorkers is how many pods are worked on at once.
	kubeletWorkers = 32
	// version is what all servers are.
	version = "9.1.2"
)

// A kubelet plays the scheduler, the kubelets of all nodes and, for the Secrets
// of pods, the garbage collector.
type kubelet struct {
	kube     *kube
	sim      *valkeysim.Sim
	refusals *refusals
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu sync.Mutex
	// ips are the addresses of pods. None is ever used twice.
	ips map[types.UID]netip.Addr
	// clusters tell whose server has an address.
	clusters map[netip.Addr]types.NamespacedName
	// placed counts the pods of every shard, and all of them.
	placed map[string]int
	all    int
}

// newKubelet makes the Kubernetes nodes and runs pods on them until the test
// ends.
func newKubelet(t *testing.T, k *kube, sim *valkeysim.Sim) *kubelet {
	t.Helper()
	out := &kubelet{
		kube: k, sim: sim, refusals: newRefusals(t),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](50*time.Millisecond, 2*time.Second)),
		ips:   map[types.UID]netip.Addr{}, clusters: map[netip.Addr]types.NamespacedName{}, placed: map[string]int{},
	}
	for i := range zones * hostsPerZone {
		if err := out.makeHost(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	inf, err := k.cache.GetInformer(t.Context(), &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(obj any) {
		if name, err := toolscache.DeletionHandlingObjectToName(obj); err == nil {
			out.queue.Add(types.NamespacedName{Namespace: name.Namespace, Name: name.Name})
		}
	}
	_, err = inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	workers := sync.WaitGroup{}
	for range kubeletWorkers {
		workers.Go(func() { out.work(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		out.queue.ShutDown()
		workers.Wait()
	})
	return out
}

func hostName(i int) string { return fmt.Sprintf("host-%d-%d", i%zones, i/zones) }

func (k *kubelet) makeHost(ctx context.Context, i int) error {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: hostName(i), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%zones)},
	}}
	if err := k.kube.Create(ctx, n); err != nil {
		return err
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return k.kube.Status().Update(ctx, n)
}

func (k *kubelet) work(ctx context.Context) {
	for {
		key, end := k.queue.Get()
		if end {
			return
		}
		after, err := k.sync(ctx, key)
		switch {
		case err != nil:
			// Others write to pods too, and a Secret may not be there yet.
			k.queue.AddRateLimited(key)
		case after > 0:
			k.queue.AddAfter(key, after)
		default:
			k.queue.Forget(key)
		}
		k.queue.Done(key)
	}
}

// sync does the next thing that a pod needs, and returns when to look again. What
// belonged to a pod that is gone goes with it.
func (k *kubelet) sync(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	p := &corev1.Pod{}
	err := k.kube.cache.Get(ctx, key, p)
	switch {
	case kerrors.IsNotFound(err):
		conf := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: manifest.ConfigSecretName(key.Name)}}
		return 0, client.IgnoreNotFound(k.kube.Delete(ctx, conf))
	case err != nil:
		return 0, err
	case p.DeletionTimestamp != nil:
		// The timestamp is when the grace period ends.
		if left := time.Until(p.DeletionTimestamp.Time); left > 0 {
			return left, nil
		}
		return 0, k.remove(ctx, p)
	case p.Spec.NodeName == "":
		return 0, k.bind(ctx, p)
	case p.Status.Phase == corev1.PodPending:
		return 0, k.run(ctx, p)
	case p.Status.Phase == corev1.PodRunning:
		return 0, k.readiness(ctx, p)
	}
	return 0, nil
}

// bind spreads the pods of a shard over zones, as its constraints ask.
func (k *kubelet) bind(ctx context.Context, p *corev1.Pod) error {
	shard := p.Namespace + "/" + p.Labels[manifest.LabelInstance] + "/" + p.Labels[manifest.LabelShardIndex]
	k.mu.Lock()
	n, ok := k.placed[shard]
	if !ok {
		n = k.all
	}
	k.placed[shard] = n + 1
	k.all++
	host := n%zones + zones*(k.all%hostsPerZone)
	k.mu.Unlock()
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: hostName(host)},
	}
	err := k.kube.SubResource("binding").Create(ctx, p, b)
	if kerrors.IsConflict(err) {
		// The cache was behind.
		return nil
	}
	return client.IgnoreNotFound(err)
}

// run starts the server of a pod with the users of its Secret.
func (k *kubelet) run(ctx context.Context, p *corev1.Pod) error {
	cluster := types.NamespacedName{Namespace: p.Namespace, Name: p.Labels[manifest.LabelInstance]}
	users := &corev1.Secret{}
	if err := k.kube.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: manifest.ACLSecretName(cluster.Name)}, users); err != nil {
		return err
	}
	k.mu.Lock()
	ip, runs := k.ips[p.UID]
	if !runs {
		n := len(k.clusters) + 1
		ip = netip.AddrFrom4([4]byte{10, 64, byte(n >> 8), byte(n)})
		k.ips[p.UID], k.clusters[ip] = ip, cluster
	}
	k.mu.Unlock()
	if !runs {
		k.sim.Start(ip, valkeysim.Options{Version: version, Users: string(users.Data[manifest.KeyACLFile])})
	}
	now := metav1.Now()
	return k.tell(ctx, p, corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip.String(), PodIPs: []corev1.PodIP{{IP: ip.String()}}, StartTime: &now,
		Conditions: []corev1.PodCondition{condition(corev1.ContainersReady, true), condition(corev1.PodReady, false)},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: manifest.ContainerName, Image: p.Spec.Containers[0].Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	})
}

func condition(c corev1.PodConditionType, is bool) corev1.PodCondition {
	out := corev1.PodCondition{Type: c, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if is {
		out.Status = corev1.ConditionTrue
	}
	return out
}

// readiness makes a pod as ready as its readiness gate says.
func (k *kubelet) readiness(ctx context.Context, p *corev1.Pod) error {
	gate, ready := holds(p, manifest.ReadinessGate), holds(p, corev1.PodReady)
	if gate == ready {
		return nil
	}
	return k.tell(ctx, p, corev1.PodStatus{Conditions: []corev1.PodCondition{condition(corev1.PodReady, gate)}})
}

func holds(p *corev1.Pod, c corev1.PodConditionType) bool {
	for _, have := range p.Status.Conditions {
		if have.Type == c {
			return have.Status == corev1.ConditionTrue
		}
	}
	return false
}

// tell merges something into the status of a pod.
func (k *kubelet) tell(ctx context.Context, p *corev1.Pod, st corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"status": st})
	if err != nil {
		return err
	}
	err = k.kube.Status().Patch(ctx, named(p), client.RawPatch(types.StrategicMergePatchType, patch))
	return client.IgnoreNotFound(err)
}

func named(p *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
}

// remove ends the server of a pod, and then the pod.
func (k *kubelet) remove(ctx context.Context, p *corev1.Pod) error {
	if ip, ok := k.ipOf(p); ok {
		k.sim.Stop(ip)
	}
	uid := p.UID
	return client.IgnoreNotFound(k.kube.Delete(ctx, named(p), client.GracePeriodSeconds(0), client.Preconditions{UID: &uid}))
}

// kill ends the server of a pod as if it had crashed, and returns when. Then it
// tells of it, which may take its time.
func (k *kubelet) kill(ctx context.Context, p *corev1.Pod) (time.Time, error) {
	ip, ok := k.ipOf(p)
	if !ok {
		return time.Time{}, fmt.Errorf("pod %s has no address", p.Name)
	}
	if err := k.refusals.add(ip); err != nil {
		return time.Time{}, err
	}
	ended := time.Now()
	k.sim.Stop(ip)
	return ended, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now := &corev1.Pod{}
		if err := k.kube.Get(ctx, client.ObjectKeyFromObject(p), now); err != nil {
			return err
		}
		now.Status.Phase = corev1.PodFailed
		for i := range now.Status.Conditions {
			if c := &now.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
				*c = condition(c.Type, false)
			}
		}
		for i := range now.Status.ContainerStatuses {
			c := &now.Status.ContainerStatuses[i]
			c.Ready = false
			c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: metav1.Now()}}
		}
		return k.kube.Status().Update(ctx, now)
	})
}

// clusterAt tells whose server has an address.
func (k *kubelet) clusterAt(ip netip.Addr) types.NamespacedName {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.clusters[ip]
}

// ipOf returns the address of a pod, if it has one.
func (k *kubelet) ipOf(p *corev1.Pod) (netip.Addr, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ip, ok := k.ips[p.UID]
	return ip, ok
}
