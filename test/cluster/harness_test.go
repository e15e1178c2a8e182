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

// Package cluster tests the provider as users meet it: its process works on a
// real Kubernetes with kubelets, and real Valkey servers run in pods. The tests
// run where pods can be reached; see cluster/local.
package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
)

// Names of the variables that say where things are.
const (
	providerVar = "VALKEY_TEST_PROVIDER"
	auditVar    = "VALKEY_LOCAL_AUDIT_LOG"
)

var (
	full     = flag.Bool("cluster.full", false, "test every shape on every version, and big clusters")
	bench    = flag.Bool("cluster.bench", false, "measure bootstrap")
	kills    = flag.Int("cluster.kills", 5, "how often to kill the provider during a bootstrap")
	patience = flag.Float64("cluster.patience", 4, "factor of all times that tests wait, for busy machines")
	still    = flag.Duration("cluster.rest", time.Minute, "for how long to count writes at rest")
	seed     = flag.Int64("cluster.seed", time.Now().UnixNano(), "seed of all random choices")
)

// versions of Valkey that Kubernetes has images of, by tag.
var versions = []string{"8.0", "8.1", "9.1"}

// newest is the version of tests that need only one.
const newest = "9.1"

// maxPods bounds how many pods all tests have at once.
const maxPods = 24

// The one Kubernetes, and the one provider that works on it.
var (
	restConfig *rest.Config
	kube       client.WithWatch
	provider   *process
	pods       = semaphore.NewWeighted(maxPods)
)

func TestMain(m *testing.M) {
	// Tests mostly wait: pods bound how many run at once, not cores.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	bin := os.Getenv(providerVar)
	if bin == "" {
		return 0, fmt.Errorf("set %s to the path of the provider's binary", providerVar)
	}
	ctrllog.SetLogger(logr.Discard())
	if err := connect(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := install(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, uninstall()) }()
	if err := rights(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	if provider, err = newProcess(ctx, bin); err != nil {
		return 0, err
	}
	if err := provider.start(ctx); err != nil {
		return 0, err
	}
	code = m.Run()
	if err := emptied(); err != nil {
		code = 1
		fmt.Fprintln(os.Stderr, err)
	}
	if err := errors.Join(provider.tellsNoSecrets(context.Background()), provider.hadAllRights()); err != nil {
		code = 1
		fmt.Fprintln(os.Stderr, err)
	}
	if code == 0 && wholeSuite() {
		if err := usedAllRights(begin); err != nil {
			code = 1
			fmt.Fprintln(os.Stderr, err)
		}
	}
	provider.stop()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "The provider's log is in", provider.log)
		return code, nil
	}
	return code, os.RemoveAll(filepath.Dir(provider.log))
}

func connect() (err error) {
	if restConfig, err = ctrl.GetConfig(); err != nil {
		return fmt.Errorf("cannot find Kubernetes, run the tests with \"cluster/local/local exec\": %w", err)
	}
	restConfig.QPS = -1 // No limit: tests that wait must not wait for each other.
	restConfig.UserAgent = "cluster-test"
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	kube, err = client.NewWithWatch(restConfig, client.Options{Scheme: scheme})
	return err
}

// root is the root of the module.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "package", "crds")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("cannot find package/crds: run the tests in the module's folder")
}

// install brings the definitions and a catalog with all versions.
func install(ctx context.Context) error {
	dir, err := root()
	if err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{Paths: []string{filepath.Join(dir, "package", "crds")}, ErrorIfPathMissing: true}); err != nil {
		return fmt.Errorf("cannot install the definitions: %w", err)
	}
	for _, obj := range baseCatalog() {
		if err := apply(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

func uninstall() error {
	var errs []error
	rights := []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: rightsMeta}, &rbacv1.ClusterRole{ObjectMeta: rightsMeta}, serviceAccount}
	for _, obj := range append(baseCatalog(), rights...) {
		errs = append(errs, client.IgnoreNotFound(kube.Delete(context.Background(), obj)))
	}
	return errors.Join(errs...)
}

// menu is the name of the ValkeyConfig and of the ValkeyImage of a version.
func menu(version string) string { return "test-" + version }

func baseCatalog() []client.Object {
	var out []client.Object
	for _, v := range versions {
		img := &v1alpha1.ValkeyImage{Spec: v1alpha1.ValkeyImageSpec{Repository: "valkey/valkey", Tag: v, Version: v + ".0"}}
		img.SetName(menu(v))
		cfg := &v1alpha1.ValkeyConfig{Spec: v1alpha1.ValkeyConfigSpec{
			ImageRef:  menu(v),
			Resources: &v1alpha1.ConfigResources{Memory: "96Mi"},
			Valkey:    map[string]string{"maxmemory": "48mb"},
		}}
		cfg.SetName(menu(v))
		out = append(out, img, cfg)
	}
	return out
}

// apply makes an object or makes it be as given.
func apply(ctx context.Context, obj client.Object) error {
	err := kube.Create(ctx, obj)
	if !kerrors.IsAlreadyExists(err) {
		return err
	}
	have := obj.DeepCopyObject().(client.Object)
	if err := kube.Get(ctx, client.ObjectKeyFromObject(obj), have); err != nil {
		return err
	}
	obj.SetResourceVersion(have.GetResourceVersion())
	return kube.Update(ctx, obj)
}

// A space is a namespace that belongs to one test.
type space struct {
	*testing.T

	name string
}

// newSpace makes a namespace for a test that runs up to so many pods, once that
// many may run. When the test ends its clusters are deleted and nothing may be
// left of them. If the test failed, what is in it gets printed before.
func newSpace(t *testing.T, npods int, labels ...string) *space {
	t.Helper()
	weight := min(int64(npods), maxPods)
	if err := pods.Acquire(t.Context(), weight); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pods.Release(weight) })
	ns := &corev1.Namespace{}
	ns.SetGenerateName("test-")
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		ns.SetLabels(map[string]string{k: v})
	}
	if err := kube.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	s := &space{T: t, name: ns.GetName()}
	t.Cleanup(func() {
		if t.Failed() {
			s.dump()
		}
		s.empty()
	})
	return s
}

// namespaces that are deleted and must be gone at the end.
var leaving sync.Map

// empty deletes all clusters, waits until nothing of them is left, and deletes
// the namespace, which TestMain awaits.
func (s *space) empty() {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	s.tellsNoSecrets(ctx)
	ns := &corev1.Namespace{}
	ns.SetName(s.name)
	leaving.Store(s.name, ns)
	defer func() {
		if err := kube.Delete(context.Background(), ns); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	}()
	if err := kube.DeleteAllOf(ctx, &v1alpha1.ValkeyCluster{}, client.InNamespace(s.name)); err != nil {
		s.Error(err)
		return
	}
	s.gone(2 * time.Minute)
}

// emptied waits until all namespaces of the tests are gone.
func emptied() error {
	var errs []error
	leaving.Range(func(_, v any) bool {
		ns := v.(*corev1.Namespace)
		_, err := await("namespace "+ns.Name+" gone", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			err := kube.Get(ctx, client.ObjectKeyFromObject(ns), ns)
			if kerrors.IsNotFound(err) {
				return true, "", nil
			}
			msg := []string{string(ns.Status.Phase)}
			for _, c := range ns.Status.Conditions {
				if c.Status == corev1.ConditionTrue {
					msg = append(msg, c.Message)
				}
			}
			return false, strings.Join(msg, "; "), err
		})
		errs = append(errs, err)
		return true
	})
	return errors.Join(errs...)
}

// A condition tells whether something holds and, in words, what holds instead.
type condition func(context.Context) (done bool, state string, err error)

// pollInterval of awaits.
const pollInterval = 200 * time.Millisecond

// await waits until a condition holds and returns how long that took. It fails
// the test with the last state if that takes too long.
func (s *space) await(what string, atMost time.Duration, ok condition) time.Duration {
	s.Helper()
	d, err := await(what, time.Duration(float64(atMost)**patience), ok)
	if err != nil {
		s.Fatal(err)
	}
	return d
}

func await(what string, atMost time.Duration, ok condition) (time.Duration, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	last := "nothing seen"
	for {
		done, state, err := ok(ctx)
		if done {
			return time.Since(start), nil
		}
		if err != nil && ctx.Err() == nil {
			state += " (" + err.Error() + ")"
		}
		if ctx.Err() == nil {
			last = state
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%s: not after %s; last: %s", what, atMost, last)
		case <-tick.C:
		}
	}
}

// always fails the test if a condition does not hold during the whole time.
func (s *space) always(what string, during time.Duration, ok condition) {
	s.Helper()
	_, err := await(what, during, func(ctx context.Context) (bool, string, error) {
		holds, state, err := ok(ctx)
		return err == nil && !holds, state, err
	})
	if err == nil {
		s.Fatalf("%s does not hold any more", what)
	}
}

// cluster returns a ValkeyCluster that is not applied yet.
func (s *space) cluster(name, config string, shards, replicas int, edits ...func(*v1alpha1.ValkeyCluster)) *v1alpha1.ValkeyCluster {
	c := &v1alpha1.ValkeyCluster{Spec: v1alpha1.ValkeyClusterSpec{ConfigRef: config, Shards: int32(shards), ReplicasPerShard: int32(replicas)}}
	c.SetName(name)
	c.SetNamespace(s.name)
	for _, e := range edits {
		e(c)
	}
	return c
}

// apply makes an object or makes it be as given.
func (s *space) apply(obj client.Object) {
	s.Helper()
	if err := apply(s.Context(), obj); err != nil {
		s.Fatal(err)
	}
}

// run applies a new ValkeyCluster and returns it.
func (s *space) run(name, config string, shards, replicas int, edits ...func(*v1alpha1.ValkeyCluster)) {
	s.Helper()
	s.apply(s.cluster(name, config, shards, replicas, edits...))
}

// edit changes a ValkeyCluster, whatever happens to it meanwhile.
func (s *space) edit(name string, change func(*v1alpha1.ValkeyCluster)) {
	s.Helper()
	s.await("edit of "+name, 10*time.Second, func(ctx context.Context) (bool, string, error) {
		c, err := s.get(ctx, name)
		if err != nil {
			return false, "", err
		}
		change(c)
		err = kube.Update(ctx, c)
		return err == nil, "", err
	})
}

func (s *space) get(ctx context.Context, name string) (*v1alpha1.ValkeyCluster, error) {
	c := &v1alpha1.ValkeyCluster{}
	return c, kube.Get(ctx, client.ObjectKey{Namespace: s.name, Name: name}, c)
}

// awaitCluster waits until a ValkeyCluster is as a function says.
func (s *space) awaitCluster(name, what string, atMost time.Duration, ok func(*v1alpha1.ValkeyCluster) bool) time.Duration {
	s.Helper()
	return s.await(fmt.Sprintf("ValkeyCluster %s is %s", name, what), atMost, func(ctx context.Context) (bool, string, error) {
		c, err := s.get(ctx, name)
		if err != nil {
			return false, "", err
		}
		return ok(c), describe(c), nil
	})
}

// describe says in a line how a ValkeyCluster is.
func describe(c *v1alpha1.ValkeyCluster) string {
	out := []string{fmt.Sprintf("%s: state %q, message %q, %d nodes", c.GetName(), c.Status.State, c.Status.Message, len(c.Status.Nodes))}
	for _, cond := range c.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s (%s: %s)", cond.Type, cond.Status, cond.Reason, cond.Message))
	}
	return strings.Join(out, ", ")
}

// typeConverged is the condition that tells what the provider works on.
const typeConverged xpv2.ConditionType = "Converged"

func converged(c *v1alpha1.ValkeyCluster) bool {
	return c.Status.State == v1alpha1.StateActive && c.Status.ObservedGeneration == c.GetGeneration() &&
		c.GetCondition(typeConverged).Status == corev1.ConditionTrue
}

// awaitActive waits until a cluster is Active.
func (s *space) awaitActive(name string, atMost time.Duration) time.Duration {
	s.Helper()
	return s.awaitCluster(name, "Active", atMost, func(c *v1alpha1.ValkeyCluster) bool {
		return c.Status.State == v1alpha1.StateActive
	})
}

// awaitConverged waits until a cluster is Active and nothing is left to do for
// its present spec.
func (s *space) awaitConverged(name string, atMost time.Duration) {
	s.Helper()
	s.awaitCluster(name, "converged", atMost, converged)
}

// awaitInvalid waits until a cluster is Invalid with a message, and until an
// event says the same.
func (s *space) awaitInvalid(name, message string, atMost time.Duration) {
	s.Helper()
	s.awaitCluster(name, fmt.Sprintf("Invalid with %q", message), atMost, func(c *v1alpha1.ValkeyCluster) bool {
		return c.Status.State == v1alpha1.StateInvalid && c.Status.Message == message
	})
	s.awaitEvent(name, message, atMost)
}

// awaitTold waits until the condition Converged and an event hold all of some
// words.
func (s *space) awaitTold(name string, atMost time.Duration, words ...string) {
	s.Helper()
	s.awaitCluster(name, fmt.Sprintf("telling %q", words), atMost, func(c *v1alpha1.ValkeyCluster) bool {
		return holdsAll(c.GetCondition(typeConverged).Message+" "+c.Status.Message, words)
	})
	s.awaitEvent(name, words[0], atMost, words[1:]...)
}

func holdsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// awaitEvent waits for a Warning about a ValkeyCluster that holds all of some
// words.
func (s *space) awaitEvent(name, word string, atMost time.Duration, more ...string) {
	s.Helper()
	words := append([]string{word}, more...)
	s.await(fmt.Sprintf("event of %s with %q", name, words), atMost, func(ctx context.Context) (bool, string, error) {
		l := &corev1.EventList{}
		if err := kube.List(ctx, l, client.InNamespace(s.name)); err != nil {
			return false, "", err
		}
		var seen []string
		for _, e := range l.Items {
			if e.InvolvedObject.Name != name || e.InvolvedObject.Kind != "ValkeyCluster" {
				continue
			}
			if e.Type == corev1.EventTypeWarning && holdsAll(e.Message, words) {
				return true, "", nil
			}
			seen = append(seen, e.Message)
		}
		return false, strings.Join(seen, " | "), nil
	})
}

// nodes returns the ValkeyNodes of a cluster, sorted by name.
func (s *space) nodes(ctx context.Context, cluster string) ([]v1alpha1.ValkeyNode, error) {
	l := &v1alpha1.ValkeyNodeList{}
	err := kube.List(ctx, l, client.InNamespace(s.name), client.MatchingLabels{manifest.LabelInstance: cluster})
	return l.Items, err
}

// pods returns the pods of a cluster, sorted by name.
func (s *space) pods(ctx context.Context, cluster string) ([]corev1.Pod, error) {
	l := &corev1.PodList{}
	err := kube.List(ctx, l, client.InNamespace(s.name), client.MatchingLabels{manifest.LabelInstance: cluster})
	return l.Items, err
}

// config makes a ValkeyConfig for this test only and returns its name. Without a
// base in the spec it inherits from that of the newest version.
func (s *space) config(name string, spec v1alpha1.ValkeyConfigSpec) string {
	s.Helper()
	if spec.BaseRef == "" && spec.ImageRef == "" {
		spec.BaseRef = menu(newest)
	}
	obj := &v1alpha1.ValkeyConfig{Spec: spec}
	return s.global(name, obj)
}

// global applies a cluster-scoped object under a name of its own to this test,
// and returns that name.
func (s *space) global(name string, obj client.Object) string {
	s.Helper()
	obj.SetName(s.own(name))
	s.apply(obj)
	s.Cleanup(func() { _ = kube.Delete(context.Background(), obj) })
	return obj.GetName()
}

// own is a name for a cluster-scoped object that no other test has.
func (s *space) own(name string) string { return s.name + "-" + name }

// dump prints what is in the space, and the end of the provider's log.
func (s *space) dump() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out := strings.Builder{}
	clusters, nodes, ps, events := &v1alpha1.ValkeyClusterList{}, &v1alpha1.ValkeyNodeList{}, &corev1.PodList{}, &corev1.EventList{}
	in := client.InNamespace(s.name)
	if err := errors.Join(kube.List(ctx, clusters, in), kube.List(ctx, nodes, in), kube.List(ctx, ps, in), kube.List(ctx, events, in)); err != nil {
		s.Log(err)
	}
	for i := range clusters.Items {
		fmt.Fprintln(&out, describe(&clusters.Items[i]))
	}
	for _, n := range nodes.Items {
		fmt.Fprintf(&out, "node %s: shard %d, %s, %s, id %q, deleted %v, %s\n", n.Name, n.Spec.ShardIndex, n.Spec.Lifecycle, n.Status.Role, n.Status.NodeID, n.DeletionTimestamp, n.Status.Message)
	}
	for _, p := range ps.Items {
		fmt.Fprintf(&out, "pod %s: %s on %s, %s, deleted %v %s\n", p.Name, p.Status.Phase, p.Spec.NodeName, p.Status.PodIP, p.DeletionTimestamp, p.Status.Message)
	}
	for _, e := range events.Items {
		fmt.Fprintf(&out, "event %s of %s %s: %s\n", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
	}
	s.Logf("In %s:\n%s\nThe provider's log, last of it about %s:\n%s", s.name, out.String(), s.name, provider.logTail(s.name, 40))
}

// gone waits until nothing is left in the space that a cluster had.
func (s *space) gone(atMost time.Duration) time.Duration {
	s.Helper()
	return s.await("everything gone", atMost, func(ctx context.Context) (bool, string, error) {
		for _, gvk := range leavable {
			left, err := s.leftOf(ctx, gvk)
			if err != nil || len(left) > 0 {
				return false, strings.Join(left, ", "), err
			}
		}
		return true, "", nil
	})
}

// leavable are the kinds that a cluster may leave behind.
var leavable = []schema.GroupVersionKind{
	v1alpha1.ValkeyClusterGVK, v1alpha1.ValkeyNodeGVK,
	corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
}

// left lists everything in the space that a cluster may leave behind: its kinds,
// and all that has an owner or the provider's label.
func (s *space) left(ctx context.Context) ([]string, error) {
	var out []string
	for _, gvk := range leavable {
		left, err := s.leftOf(ctx, gvk)
		if err != nil {
			return nil, err
		}
		out = append(out, left...)
	}
	return out, nil
}

func (s *space) leftOf(ctx context.Context, gvk schema.GroupVersionKind) ([]string, error) {
	var out []string
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := kube.List(ctx, l, client.InNamespace(s.name)); err != nil {
		return nil, err
	}
	for _, o := range l.Items {
		if gvk.Group == v1alpha1.Group || len(o.OwnerReferences) > 0 || o.Labels[manifest.LabelManagedBy] != "" {
			out = append(out, gvk.Kind+" "+o.Name)
		}
	}
	return out, nil
}
