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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/settings"
)

// A template is what a member made now looks like.
type template struct {
	manifest.NodeTemplate
}

func newTemplate(c *v1alpha1.ValkeyCluster, r *resolved) *template {
	t := &template{manifest.NodeTemplate{
		Image: r.Image, CPU: r.CPU, Memory: r.Memory, Settings: r.settings, Placement: c.Spec.Placement.DeepCopy(),
	}}
	if c.Spec.TLS != nil {
		t.TLSSecret = manifest.TLSSecretName(c.GetName())
	}
	return t
}

// forNode returns the template with what only one member has.
func (t *template) forNode(c *v1alpha1.ValkeyCluster, name string) manifest.NodeTemplate {
	out := t.NodeTemplate
	out.Settings = maps.Clone(t.Settings)
	for k, v := range settings.Forced(settings.Input{TLS: t.TLSSecret != "", Cluster: c.GetName(), Namespace: c.GetNamespace(), Node: name}) {
		if settings.PerNode(k) {
			out.Settings[k] = v
		}
	}
	return out
}

// hash identifies the template among those of the same cluster.
func (t *template) hash() string {
	p := placement(t.Placement)
	b, err := json.Marshal([]any{t.Image, t.CPU, t.Memory, shared(t.Settings), p.zones(), p.NodeSelector})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// difference says in words in what a member differs from the template, and ""
// if it need not be replaced.
func (t *template) difference(n *v1alpha1.ValkeyNode) string {
	s := n.Spec
	have, want := placement(s.Placement), placement(t.Placement)
	switch {
	case s.Image != t.Image:
		return fmt.Sprintf("image %s instead of %s", s.Image, t.Image)
	case !sameQuantity(s.CPU, t.CPU):
		return fmt.Sprintf("cpu %q instead of %q", s.CPU, t.CPU)
	case !sameQuantity(s.Memory, t.Memory):
		return fmt.Sprintf("memory %q instead of %q", s.Memory, t.Memory)
	case !slices.Equal(have.zones(), want.zones()):
		return fmt.Sprintf("zones %v instead of %v", have.zones(), want.zones())
	case !maps.Equal(have.NodeSelector, want.NodeSelector):
		return fmt.Sprintf("nodeSelector %v instead of %v", have.NodeSelector, want.NodeSelector)
	}
	if keys := changedKeys(shared(s.ValkeySettings), shared(t.Settings)); len(keys) > 0 {
		return "settings changed: " + strings.Join(keys, ", ")
	}
	return ""
}

type placementOf v1alpha1.Placement

func placement(p *v1alpha1.Placement) placementOf {
	if p == nil {
		return placementOf{}
	}
	return placementOf(*p)
}

// zones returns the zones as a set: their order and repetitions mean nothing.
func (p placementOf) zones() []string {
	return slices.Compact(slices.Sorted(slices.Values(p.Zones)))
}

func shared(m map[string]string) map[string]string {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(k, _ string) bool { return settings.PerNode(k) })
	return out
}

func changedKeys(a, b map[string]string) []string {
	var out []string
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			out = append(out, k)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// sameQuantity compares by value: 1 and 1000m are the same amount of CPU.
func sameQuantity(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
