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
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// A mishap is a cluster that cannot run.
type mishap struct {
	config string
	// told is what status and event must say.
	told []string
	// repair changes the catalog or Kubernetes, not the cluster.
	repair func()
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	settings := func(kv ...string) func(*space) mishap {
		return func(s *space) mishap {
			return mishap{
				config: s.config("c", v1alpha1.ValkeyConfigSpec{Valkey: map[string]string{kv[0]: kv[1]}}), told: kv[2:],
				repair: func() { s.config("c", v1alpha1.ValkeyConfigSpec{}) },
			}
		}
	}
	images := func(repository, tag string, told ...string) func(*space) mishap {
		return func(s *space) mishap {
			bad := &v1alpha1.ValkeyImage{Spec: v1alpha1.ValkeyImageSpec{Repository: repository, Tag: tag, Version: "9.1.0"}}
			return mishap{
				config: s.config("c", v1alpha1.ValkeyConfigSpec{BaseRef: menu(newest), ImageRef: s.global("i", bad)}), told: told,
				repair: func() { s.global("i", image()) },
			}
		}
	}
	cases := map[string]struct {
		reason string
		bad    func(*space) mishap
		// alone means that no other cluster can run in the namespace meanwhile.
		alone bool
	}{
		"UnknownSetting": {
			reason: "Only the server knows that there is no such setting.",
			bad:    settings("foo", "bar", "foo", "correct this setting in the ValkeyConfig"),
		},
		"RefusedSetting": {
			reason: "A setting that would break authentication.",
			bad:    settings("requirepass", "secret", `setting "requirepass" is refused: `),
		},
		"KubernetesUnit": {
			reason: "Valkey does not know Kubernetes' units.",
			bad:    settings("maxmemory", "2Gi", `setting "maxmemory" has the value "2Gi"`, "2gb"),
		},
		"NoSuchImage": {
			reason: "An image that the registry does not have.",
			bad:    images("valkey/valkey", "0.0", "valkey/valkey:0.0", "check repository and tag of the ValkeyImage"),
		},
		"OtherImage": {
			reason: "An image without a Valkey server.",
			bad:    images("docker.io/library/busybox", "1", "has no valkey-server; check the ValkeyImage"),
		},
		"TooBig": {
			reason: "More CPU than any node has.",
			bad: func(s *space) mishap {
				return mishap{
					config: s.config("c", v1alpha1.ValkeyConfigSpec{Resources: &v1alpha1.ConfigResources{CPU: "64"}}),
					told:   []string{"the pod cannot be scheduled", "Insufficient cpu"},
					repair: func() { s.config("c", v1alpha1.ValkeyConfigSpec{}) },
				}
			},
		},
		"Quota": {
			reason: "The namespace may have no pod.",
			alone:  true,
			bad: func(s *space) mishap {
				q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}
				q.SetName("none")
				q.SetNamespace(s.name)
				s.apply(q)
				return mishap{
					config: menu(newest), told: []string{"exceeded quota: none", "pods"},
					repair: func() {
						if err := kube.Delete(s.Context(), q); err != nil {
							s.Error(err)
						}
					},
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			s := newSpace(t, 2)
			m := tc.bad(s)
			s.run("a", m.config, 1, 0)
			s.awaitTold("a", 45*time.Second, m.told...)
			if !tc.alone {
				s.run("other", menu(newest), 1, 0)
				s.awaitActive("other", 45*time.Second)
				s.verify("other")
			}
			m.repair()
			s.awaitConverged("a", 90*time.Second)
			s.verify("a")
		})
	}
}

func TestRestrictedNamespace(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 2, "pod-security.kubernetes.io/enforce=restricted")
	s.run("a", menu(newest), 1, 1)
	s.awaitActive("a", 60*time.Second)
	s.verify("a")
}

// nothing holds as long as a cluster has no member and no object.
func nothing(s *space) condition {
	return func(ctx context.Context) (bool, string, error) {
		left, err := s.left(ctx)
		return err == nil && fmt.Sprint(left) == "[ValkeyCluster a]", strings.Join(left, ", "), err
	}
}

// A member that somebody else made for a cluster keeps the provider away from the
// cluster and from the member until it is gone.
func TestForeignMember(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 1)
	foreign := &v1alpha1.ValkeyNode{
		ObjectMeta: metav1.ObjectMeta{Name: "a-0", Namespace: s.name},
		Spec:       v1alpha1.ValkeyNodeSpec{ClusterName: "a", Image: "valkey/valkey:9.1", Lifecycle: v1alpha1.LifecycleActive},
	}
	s.apply(foreign)
	s.run("a", menu(newest), 1, 0)
	s.awaitInvalid("a", `ValkeyNode "a-0" of this cluster was not made by this provider, which leaves it and its data alone: move the data as docs/migration.md says, or delete the node if it is not needed`, 20*time.Second)
	s.always("nothing but that member", 4*time.Second, func(ctx context.Context) (bool, string, error) {
		left, err := s.left(ctx)
		return err == nil && fmt.Sprint(left) == "[ValkeyCluster a ValkeyNode a-0]", strings.Join(left, ", "), err
	})
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || len(foreign.Finalizers) > 0 || foreign.Status.Message != "" {
		t.Errorf("the member was touched: %v, finalizers %v, status %v", err, foreign.Finalizers, foreign.Status)
	}
	if err := kube.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	s.awaitConverged("a", 60*time.Second)
	s.verify("a")
}

func TestObserveOnly(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 3)
	s.run("a", menu(newest), 1, 0, func(c *v1alpha1.ValkeyCluster) {
		c.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	})
	s.awaitCluster("a", "telling what it lacks", 15*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
		return c.GetCondition(typeConverged).Status == corev1.ConditionFalse && strings.Contains(c.GetCondition(typeConverged).Message, "0 of 1 members run")
	})
	s.always("no object", 4*time.Second, nothing(s))

	s.edit("a", func(c *v1alpha1.ValkeyCluster) { c.Spec.ManagementPolicies = nil })
	s.awaitConverged("a", 60*time.Second)
	s.verify("a")

	s.edit("a", func(c *v1alpha1.ValkeyCluster) {
		c.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
		c.Spec.Shards = 2
	})
	s.awaitCluster("a", "telling what it lacks", 15*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
		return c.Status.ObservedGeneration == c.GetGeneration() && c.GetCondition(typeConverged).Status == corev1.ConditionFalse
	})
	s.always("one member", 4*time.Second, s.oneMember())
	s.edit("a", func(c *v1alpha1.ValkeyCluster) {
		c.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionAll}
	})
	s.awaitConverged("a", 60*time.Second)
	s.verify("a")
}

func (s *space) oneMember() condition {
	return func(ctx context.Context) (bool, string, error) {
		ns, err := s.nodes(ctx, "a")
		return len(ns) == 1, fmt.Sprintf("%d members", len(ns)), err
	}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	const paused = "crossplane.io/paused"
	s := newSpace(t, 2)
	s.run("a", menu(newest), 1, 0)
	s.awaitConverged("a", 60*time.Second)
	s.edit("a", func(c *v1alpha1.ValkeyCluster) {
		c.SetAnnotations(map[string]string{paused: "true"})
		c.Spec.Shards = 2
	})
	s.awaitCluster("a", "paused", 15*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
		return c.GetCondition(xpv2.TypeSynced).Reason == xpv2.ReasonReconcilePaused
	})
	s.always("one member", 4*time.Second, s.oneMember())
	s.edit("a", func(c *v1alpha1.ValkeyCluster) {
		c.SetAnnotations(map[string]string{"crossplane.io/reconcile-requested-at": "once"})
	})
	s.awaitConverged("a", 60*time.Second)
	s.awaitCluster("a", "looked at as requested", 10*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
		return c.Status.LastHandledReconcileAt == "once"
	})
	s.verify("a")
}

// connectionSecret makes a cluster write its connection details.
func connectionSecret(c *v1alpha1.ValkeyCluster) {
	c.Spec.WriteConnectionSecretToReference = &xpv2.LocalSecretReference{Name: "conn"}
}

func TestConnectionSecret(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 1)
	s.run("a", menu(newest), 1, 0, connectionSecret)
	s.awaitActive("a", 60*time.Second)
	secret := &corev1.Secret{}
	s.await("connection Secret", 10*time.Second, func(ctx context.Context) (bool, string, error) {
		err := kube.Get(ctx, client.ObjectKey{Namespace: s.name, Name: "conn"}, secret)
		return err == nil && len(secret.Data) > 0, "", err
	})
	host := "a." + s.name + ".svc.cluster.local"
	for k, want := range map[string]string{"host": host, "port": "6379", "endpoint": host + ":6379", "url": "valkey://" + host + ":6379"} {
		if got := string(secret.Data[k]); got != want {
			t.Errorf("%s is %q instead of %q", k, got, want)
		}
	}
}
