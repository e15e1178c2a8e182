//go:build crossplane

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

package crossplane

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// team is the namespace of the product team, as in the examples.
const team = "my-app"

// TestCrossplane goes the whole way of a platform team: install, activate,
// compose, use, upgrade, uninstall. Each step needs the ones before it.
func TestCrossplane(t *testing.T) {
	crossplaneUp(t)
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"Install", install},
		{"Activate", activate},
		{"Define", define},
		{"Compose", compose},
		{"ComposeTLS", composeTLS},
		{"Manners", manners},
		{"Upgrade", upgrade},
		{"DeletionIsRefused", refuse},
		{"RemovedTooEarly", tooEarly},
		{"Uninstall", uninstall},
	}
	for _, s := range steps {
		if !t.Run(s.name, s.run) {
			dump(t)
			t.FailNow()
		}
	}
}

func provider() *unstructured.Unstructured {
	return object("pkg.crossplane.io/v1", "Provider", "", "provider-valkey")
}

// manifests of the installation, with the package that is tested.
func manifests(t *testing.T, version string) []*unstructured.Unstructured {
	t.Helper()
	objs := append(read(t, root+"/cluster/install/clusterrole.yaml"), read(t, root+"/cluster/install/tenancy.yaml")...)
	objs = append(objs, read(t, root+"/cluster/install/crossplane/provider.yaml")...)
	for _, u := range objs {
		if u.GetKind() == "Provider" {
			set(t, u, pkg("provider-valkey:"+version), "spec", "package")
		}
	}
	return objs
}

// install brings the provider before any of its kinds is active. Crossplane
// knows that it can start without them, and does not even run it yet.
func install(t *testing.T) {
	applyAll(t, manifests(t, versions[0]))
	awaitTrue(t, provider(), "Installed", "Healthy")
	if pods := runtimePods(t); len(pods) != 0 {
		t.Errorf("the provider runs in %d pods without any kind", len(pods))
	}
	for _, m := range definitions(t) {
		if state, _, _ := unstructured.NestedString(m.Object, "spec", "state"); state != "Inactive" {
			t.Errorf("%s is %q before any policy asks for it", named(&m), state)
		}
	}
}

// definitions returns the managed resource definitions of the provider.
func definitions(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	l := list("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition")
	if err := kube.List(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	out := slices.DeleteFunc(l.Items, func(u unstructured.Unstructured) bool {
		return !strings.HasSuffix(u.GetName(), ".valkey.gomomento.com")
	})
	if len(out) != 5 {
		t.Errorf("there are %d definitions, want 5", len(out))
	}
	return out
}

// runtimePods returns the pods in which the provider runs.
func runtimePods(t *testing.T) []corev1.Pod {
	t.Helper()
	l := &corev1.PodList{}
	if err := kube.List(t.Context(), l, client.InNamespace("crossplane-system"), client.MatchingLabels{"pkg.crossplane.io/provider": "provider-valkey"}); err != nil {
		t.Fatal(err)
	}
	return l.Items
}

// activate asks for one kind first: the provider has to run without the others.
func activate(t *testing.T) {
	policy := read(t, root+"/cluster/install/crossplane/activation.yaml")[0]
	images := policy.DeepCopy()
	images.SetName("images-only")
	set(t, images, []any{"valkeyimages.valkey.gomomento.com"}, "spec", "activate")
	apply(t, images)
	await(t, "the provider runs with one kind of five", func(context.Context) error { return oneReadyPod(t) })
	remove(t, images)
	apply(t, policy)
	for _, m := range definitions(t) {
		awaitTrue(t, &m, "Established")
	}
}

func oneReadyPod(t *testing.T) error {
	t.Helper()
	pods := runtimePods(t)
	if len(pods) != 1 {
		return fmt.Errorf("%d pods", len(pods))
	}
	for _, c := range pods[0].Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("pod is %s, %+v", pods[0].Status.Phase, pods[0].Status.ContainerStatuses)
}

// define brings functions, the catalog, and the platform team's own API.
func define(t *testing.T) {
	for _, u := range read(t, root+"/examples/composition/functions.yaml") {
		set(t, u, pkg("crossplane-contrib/"+u.GetName()+":local"), "spec", "package")
		apply(t, u)
		defer awaitTrue(t, u, "Installed", "Healthy")
	}
	menu(t)
	apply(t, object("v1", "Namespace", "", team))
	for _, u := range read(t, root+"/examples/composition/*.yaml") {
		switch u.GetKind() {
		case "CompositeResourceDefinition":
			apply(t, u)
			awaitTrue(t, u, "Established")
		case "Composition", "ClusterRole":
			apply(t, u)
		}
	}
}

// menu brings the example's catalog, with sizes and an image that the local
// Kubernetes has.
func menu(t *testing.T) {
	t.Helper()
	for _, u := range read(t, root+"/examples/catalog/*.yaml") {
		switch u.GetKind() + "/" + u.GetName() {
		case "ValkeyImage/valkey-9-0":
			set(t, u, "9.1", "spec", "tag")
		case "ValkeyConfig/standard":
			set(t, u, map[string]any{"cpu": "100m", "memory": "96Mi"}, "spec", "resources")
			set(t, u, "48mb", "spec", "valkey", "maxmemory")
		case "ValkeyConfig/large":
			set(t, u, map[string]any{"cpu": "100m", "memory": "128Mi"}, "spec", "resources")
			set(t, u, "64mb", "spec", "valkey", "maxmemory")
		}
		apply(t, u)
	}
}

func cache(name string) *unstructured.Unstructured {
	return object("platform.example.org/v1alpha1", "Cache", team, name)
}

func valkeyCluster() *unstructured.Unstructured {
	return object("valkey.gomomento.com/v1alpha1", "ValkeyCluster", team, "sessions")
}

// compose asks for the example's Cache and uses it as an application would: with
// what is in the connection Secret, and its own password.
func compose(t *testing.T) {
	applyAll(t, read(t, root+"/examples/composition/cache.yaml"))
	xr := awaitTrue(t, cache("sessions"), "Synced", "Ready")
	if state, _, _ := unstructured.NestedString(xr.Object, "status", "state"); state != "Active" {
		t.Errorf("the composite says that the state is %q", state)
	}
	a := newApplication(t, "sessions")
	a.roundTrip()
	if zones := zonesOf(t); len(zones) != 2 {
		t.Errorf("the members are in %v, want two zones", zones)
	}
	trace := run(t, bin(t, "crossplane"), "resource", "trace", "-n", team, "cache.platform.example.org/sessions")
	for _, want := range []string{"Cache/sessions", "ValkeyCluster/sessions", "True"} {
		if !strings.Contains(trace, want) {
			t.Errorf("crossplane resource trace does not show %q:\n%s", want, trace)
		}
	}
	t.Log("\n" + trace)
}

// ofSessions selects the pods of the example's cluster.
var ofSessions = client.MatchingLabels{"app.kubernetes.io/instance": "sessions"}

// zonesOf returns the zones of the cluster's pods.
func zonesOf(t *testing.T) []string {
	t.Helper()
	pods, nodes := &corev1.PodList{}, &corev1.NodeList{}
	err := errors.Join(kube.List(t.Context(), nodes),
		kube.List(t.Context(), pods, client.InNamespace(team), ofSessions))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range pods.Items {
		for _, n := range nodes.Items {
			if n.Name == p.Spec.NodeName {
				out = append(out, n.Labels[corev1.LabelTopologyZone])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// composeTLS takes the other Composition. cert-manager is played: its kind, and
// a Secret for every Certificate.
func composeTLS(t *testing.T) {
	for _, u := range read(t, "testdata/certificates.yaml") {
		apply(t, u)
		awaitTrue(t, u, "Established")
	}
	xr := read(t, root+"/examples/composition/cache.yaml")[0]
	xr.SetName("secure")
	set(t, xr, map[string]any{"tls": "cert-manager"}, "spec", "crossplane", "compositionSelector", "matchLabels")
	apply(t, xr)
	issue(t, "secure")
	awaitTrue(t, cache("secure"), "Synced", "Ready")
	newApplication(t, "secure").roundTrip()
	remove(t, cache("secure"))
}

// manners shows that the annotations by which people steer a managed resource do
// what Crossplane's documentation says.
func manners(t *testing.T) {
	c := valkeyCluster()
	patch(t, c, `{"metadata":{"annotations":{"crossplane.io/reconcile-requested-at":"now-1"}}}`)
	await(t, "a requested pass", func(ctx context.Context) error {
		return status(ctx, c, "now-1", "lastHandledReconcileAt")
	})
	patch(t, c, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
	await(t, "a pause", func(ctx context.Context) error { return condition(ctx, c, "Synced", "False ReconcilePaused") })
	patch(t, c, `{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
	awaitTrue(t, c, "Synced", "Ready")
	managed := run(t, bin(t, "kubectl"), "-n", team, "get", "managed", "-o", "name")
	for _, want := range []string{"valkeycluster.valkey.gomomento.com/sessions", "valkeynode.valkey.gomomento.com/sessions-"} {
		if !strings.Contains(managed, want) {
			t.Errorf("kubectl get managed does not list %q:\n%s", want, managed)
		}
	}
}

func status(ctx context.Context, u *unstructured.Unstructured, want string, path ...string) error {
	got := u.DeepCopy()
	if err := kube.Get(ctx, client.ObjectKeyFromObject(u), got); err != nil {
		return err
	}
	if have, _, _ := unstructured.NestedString(got.Object, append([]string{"status"}, path...)...); have != want {
		return fmt.Errorf("%v is %q, want %q", path, have, want)
	}
	return nil
}

func condition(ctx context.Context, u *unstructured.Unstructured, kind, want string) error {
	got := u.DeepCopy()
	if err := kube.Get(ctx, client.ObjectKeyFromObject(u), got); err != nil {
		return err
	}
	if have := conditions(got)[kind]; !strings.HasPrefix(have, want) {
		return fmt.Errorf("condition %s is %q, want %q", kind, have, want)
	}
	return nil
}

// upgrade takes another version of the package while an application writes and
// reads: it must not notice, and no member may be replaced.
func upgrade(t *testing.T) {
	before := members(t)
	old := runtimePods(t)
	a := newApplication(t, "sessions")
	stop := a.keepWorking()
	applyAll(t, manifests(t, versions[1]))
	await(t, "only the new version runs", func(context.Context) error {
		pods := runtimePods(t)
		if len(pods) != 1 || pods[0].UID == old[0].UID || !strings.HasSuffix(pods[0].Spec.Containers[0].Image, versions[1]) {
			return fmt.Errorf("%d pods", len(pods))
		}
		return oneReadyPod(t)
	})
	awaitTrue(t, provider(), "Installed", "Healthy")
	c := valkeyCluster()
	patch(t, c, `{"metadata":{"annotations":{"crossplane.io/reconcile-requested-at":"now-2"}}}`)
	await(t, "the new version works", func(ctx context.Context) error {
		return status(ctx, c, "now-2", "lastHandledReconcileAt")
	})
	awaitTrue(t, cache("sessions"), "Synced", "Ready")
	rounds, failed := stop()
	t.Logf("%d rounds of write and read during the upgrade, %d failed", rounds, len(failed))
	if len(failed) > 0 {
		t.Errorf("the application noticed the upgrade: %v", failed[0])
	}
	if after := members(t); !slices.Equal(before, after) {
		t.Errorf("members changed from %v to %v", before, after)
	}
}

// members returns names and UIDs of the cluster's pods.
func members(t *testing.T) []string {
	t.Helper()
	l := &corev1.PodList{}
	if err := kube.List(t.Context(), l, client.InNamespace(team), ofSessions); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range l.Items {
		out = append(out, p.Name+" "+string(p.UID))
	}
	slices.Sort(out)
	return out
}

// refuse tries to remove the provider while a cluster needs it. Crossplane would
// remove its kinds, and with them every cluster.
func refuse(t *testing.T) {
	applyAll(t, read(t, root+"/cluster/install/crossplane/protection.yaml"))
	await(t, "the provider is protected", func(ctx context.Context) error {
		u := provider()
		if err := kube.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if u.GetLabels()["crossplane.io/in-use"] != "true" {
			return errors.New("it has no label")
		}
		return nil
	})
	err := kube.Delete(t.Context(), provider())
	if err == nil || !strings.Contains(err.Error(), "ValkeyCluster") {
		t.Fatalf("the provider was deleted while a cluster needs it: %v", err)
	}
	newApplication(t, "sessions").roundTrip()
}

// tooEarly removes the provider before its clusters, and brings it back. Nothing
// may be lost as long as it is away; then it has to finish what was begun.
func tooEarly(t *testing.T) {
	a := newApplication(t, "sessions")
	before := members(t)
	old := awaitTrue(t, valkeyCluster(), "Ready")
	for _, u := range read(t, root+"/cluster/install/crossplane/protection.yaml") {
		remove(t, u)
	}
	remove(t, provider())
	await(t, "the provider does not run", func(context.Context) error {
		if n := len(runtimePods(t)); n > 0 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	// The garbage collector needs a moment, and longer for kinds that are new.
	await(t, "the cluster is being deleted", func(ctx context.Context) error {
		u := valkeyCluster()
		if err := kube.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if u.GetDeletionTimestamp() == nil {
			return errors.New("nothing has begun")
		}
		return nil
	})
	a.roundTrip()
	if after := members(t); !slices.Equal(before, after) {
		t.Errorf("members changed from %v to %v", before, after)
	}

	applyAll(t, manifests(t, versions[1]))
	awaitTrue(t, provider(), "Installed", "Healthy")
	await(t, "the deletion of the cluster is finished", func(ctx context.Context) error {
		u := valkeyCluster()
		if err := kube.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return ignoreGone(err)
		}
		if u.GetUID() == old.GetUID() {
			return errors.New("it is still there")
		}
		return nil
	})
	// The catalog went with its kinds. The composite asks for a new cluster.
	menu(t)
	awaitTrue(t, cache("sessions"), "Synced", "Ready")
	newApplication(t, "sessions").roundTrip()
	applyAll(t, read(t, root+"/cluster/install/crossplane/protection.yaml"))
}

// uninstall takes all away in the order that docs/operations.md tells, and
// nothing may be left.
func uninstall(t *testing.T) {
	remove(t, cache("sessions"))
	await(t, "nothing of the clusters is left", func(ctx context.Context) error {
		for _, kind := range []string{"Pod", "Service", "Secret"} {
			l := list("v1", kind)
			if err := kube.List(ctx, l, client.InNamespace(team)); err != nil {
				return err
			}
			// The TLS Secret is cert-manager's.
			l.Items = slices.DeleteFunc(l.Items, func(u unstructured.Unstructured) bool { return u.GetName() == "secure-tls" })
			if len(l.Items) > 0 {
				return fmt.Errorf("%d of kind %s, such as %s", len(l.Items), kind, named(&l.Items[0]))
			}
		}
		return nil
	})
	var objs []*unstructured.Unstructured
	for _, p := range []string{"composition/composition*.yaml", "composition/definition.yaml", "composition/functions.yaml", "catalog/*.yaml"} {
		objs = append(objs, read(t, root+"/examples/"+p)...)
	}
	objs = append(objs, read(t, root+"/cluster/install/crossplane/protection.yaml")...)
	objs = append(objs, provider())
	objs = append(objs, read(t, root+"/cluster/install/crossplane/activation.yaml")...)
	objs = append(objs, read(t, root+"/cluster/install/crossplane/provider.yaml")...)
	objs = append(objs, read(t, root+"/cluster/install/clusterrole.yaml")...)
	objs = append(objs, read(t, root+"/cluster/install/tenancy.yaml")...)
	objs = append(objs, read(t, "testdata/certificates.yaml")...)
	objs = append(objs, object("v1", "Namespace", "", team))
	for _, u := range objs {
		remove(t, u)
	}
	await(t, "nothing of the provider is left", nothingLeft)
}

// nothingLeft looks for objects whose name tells that they were the provider's.
func nothingLeft(ctx context.Context) error {
	kinds := map[string][]string{
		"apiextensions.k8s.io/v1":              {"CustomResourceDefinition"},
		"apiextensions.crossplane.io/v1alpha1": {"ManagedResourceDefinition"},
		"rbac.authorization.k8s.io/v1":         {"ClusterRole", "ClusterRoleBinding"},
		"apps/v1":                              {"Deployment"},
		"pkg.crossplane.io/v1":                 {"ProviderRevision", "FunctionRevision"},
		"v1":                                   {"Secret", "ServiceAccount", "Service", "Pod"},
	}
	for gv, ks := range kinds {
		for _, k := range ks {
			l := list(gv, k)
			if err := kube.List(ctx, l); err != nil {
				return err
			}
			for _, u := range l.Items {
				if strings.Contains(u.GetName(), "valkey") || strings.Contains(u.GetName(), "platform.example.org") {
					return errors.New(named(&u))
				}
			}
		}
	}
	return nil
}

// dump prints what helps to understand a failure.
func dump(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"get", "pkg,managed,composite,mrd,mrap", "-A"},
		{"-n", "crossplane-system", "get", "pods,deployments", "-o", "wide"},
		{"-n", team, "get", "pods,secrets"},
		{"get", "events", "-A", "--sort-by", ".lastTimestamp"},
		{"-n", "crossplane-system", "logs", "-l", "pkg.crossplane.io/provider=provider-valkey", "--tail", "30"},
		{"-n", "crossplane-system", "logs", "-l", "app=crossplane", "--tail", "30"},
	} {
		out, _ := exec.Command(bin(t, "kubectl"), args...).CombinedOutput()
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}
