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

// Package catalog resolves a cluster's configRef through the platform's menu to
// the one configuration that its members run. It is pure: the caller hands in
// the catalog as it is now, and every problem is an Error that says in a
// sentence what is missing.
package catalog

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// MaxDepth is the longest chain of configs that is followed.
const MaxDepth = 10

// Reasons of an Error.
const (
	ReasonConfigNotFound   = "ConfigNotFound"
	ReasonImageNotFound    = "ImageNotFound"
	ReasonNoImage          = "NoImage"
	ReasonTooDeep          = "InheritanceTooDeep"
	ReasonInvalidResources = "InvalidResources"
)

// A Catalog holds the specs of the platform's kinds by name.
type Catalog struct {
	Images  map[string]v1alpha1.ValkeyImageSpec
	Configs map[string]v1alpha1.ValkeyConfigSpec
	Roles   map[string]v1alpha1.ValkeyRoleSpec
}

// A Resolved is what a configRef comes to.
type Resolved struct {
	// Image is the container image, repository:tag.
	Image string

	// Version is the Valkey version that the image is declared to provide.
	Version string

	// CPU and Memory are request and limit of the container, or empty.
	CPU, Memory string

	// Settings are the engine settings merged over the chain. Never nil.
	Settings map[string]string

	// ACL lists the users that the platform gives every such cluster.
	ACL []v1alpha1.ACLBinding

	// Chain names the configs from the referenced one to its last base.
	Chain []string
}

// An Error says why a configRef does not resolve.
type Error struct {
	// Reason is one word for conditions and events.
	Reason string

	// Message is the sentence that users read.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Resolve follows a configRef and merges its chain. Its error, if any, is an
// *Error.
func Resolve(c Catalog, configRef string) (Resolved, error) {
	chain, err := follow(c, configRef)
	if err != nil {
		return Resolved{}, err
	}
	r := merge(c, chain)
	ref := imageRef(c, chain)
	if ref == "" {
		return Resolved{}, &Error{Reason: ReasonNoImage, Message: fmt.Sprintf("no image_ref in config chain ending at %q", chain[len(chain)-1])}
	}
	image, ok := c.Images[ref]
	if !ok {
		return Resolved{}, &Error{Reason: ReasonImageNotFound, Message: fmt.Sprintf("ValkeyImage %q not found", ref)}
	}
	if err := checkResources(c, chain); err != nil {
		return Resolved{}, err
	}
	r.Image = image.Repository + ":" + image.Tag
	r.Version = image.Version
	return r, nil
}

// References names the configs and images on which the result of Resolve
// depends, also those that do not exist: their appearance repairs the chain.
func References(c Catalog, configRef string) (configs, images []string) {
	for name := configRef; name != "" && len(configs) < MaxDepth && !slices.Contains(configs, name); {
		configs = append(configs, name)
		name = c.Configs[name].BaseRef
	}
	if ref := imageRef(c, configs); ref != "" {
		images = []string{ref}
	}
	return configs, images
}

// follow lists the chain from a config to its last base.
func follow(c Catalog, configRef string) ([]string, error) {
	var chain []string
	for name := configRef; ; {
		if len(chain) == MaxDepth {
			return nil, &Error{Reason: ReasonTooDeep, Message: fmt.Sprintf("config inheritance depth exceeds %d (cycle?)", MaxDepth)}
		}
		cfg, ok := c.Configs[name]
		if !ok {
			return nil, &Error{Reason: ReasonConfigNotFound, Message: fmt.Sprintf("ValkeyConfig %q not found", name)}
		}
		chain = append(chain, name)
		if cfg.BaseRef == "" {
			return chain, nil
		}
		name = cfg.BaseRef
	}
}

// merge collects all but the image. The nearest config wins, for settings key
// by key and for the ACL as a whole.
func merge(c Catalog, chain []string) Resolved {
	r := Resolved{Settings: map[string]string{}, Chain: chain}
	for _, name := range slices.Backward(chain) {
		cfg := c.Configs[name]
		maps.Copy(r.Settings, cfg.Valkey)
		if cfg.ACL != nil {
			r.ACL = slices.Clone(*cfg.ACL)
		}
		if cfg.Resources == nil {
			continue
		}
		if cfg.Resources.CPU != "" {
			r.CPU = cfg.Resources.CPU
		}
		if cfg.Resources.Memory != "" {
			r.Memory = cfg.Resources.Memory
		}
	}
	return r
}

// imageRef returns the first image reference of a chain.
func imageRef(c Catalog, chain []string) string {
	for _, name := range chain {
		if ref := c.Configs[name].ImageRef; ref != "" {
			return ref
		}
	}
	return ""
}

// checkResources judges the values that win. A value that a nearer config
// overrides does no harm and is left alone.
func checkResources(c Catalog, chain []string) error {
	cpu := func(r *v1alpha1.ConfigResources) string { return r.CPU }
	memory := func(r *v1alpha1.ConfigResources) string { return r.Memory }
	if err := checkQuantity(c, chain, "resources.cpu", "500m or 2", cpu); err != nil {
		return err
	}
	return checkQuantity(c, chain, "resources.memory", "512Mi or 2Gi", memory)
}

func checkQuantity(c Catalog, chain []string, field, example string, get func(*v1alpha1.ConfigResources) string) error {
	for _, name := range chain {
		res := c.Configs[name].Resources
		if res == nil || get(res) == "" {
			continue
		}
		value := get(res)
		q, err := resource.ParseQuantity(value)
		switch {
		case err != nil:
			return &Error{Reason: ReasonInvalidResources, Message: fmt.Sprintf("ValkeyConfig %q: %s %q is not a quantity, write for example %s", name, field, value, example)}
		case q.Sign() <= 0:
			return &Error{Reason: ReasonInvalidResources, Message: fmt.Sprintf("ValkeyConfig %q: %s %q must be greater than zero", name, field, value)}
		}
		return nil
	}
	return nil
}
