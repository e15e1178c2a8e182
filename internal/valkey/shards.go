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

package valkey

import (
	"context"
	"fmt"
	"slices"
)

// SameShard reports whether the server takes two nodes for members of one shard. It is wrong about a node that it has met
// lately, until it has heard from it and its primary in the right order (Valkey 8.0 to 9.1).
func (n *Node) SameShard(ctx context.Context, a, b string) (bool, error) {
	c := command("CLUSTER", "SHARDS")
	m, err := n.one(ctx, c)
	if err != nil {
		return false, err
	}
	v, err := m.ToAny()
	if err != nil {
		return false, n.wrap(c, translate(err, nil))
	}
	shards, err := parseShards(v)
	if err != nil {
		return false, n.wrap(c, err)
	}
	return slices.ContainsFunc(shards, func(ids []string) bool { return slices.Contains(ids, a) && slices.Contains(ids, b) }), nil
}

// parseShards reads the reply to CLUSTER SHARDS into the node ids of each shard.
func parseShards(v any) ([][]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%w: shards are %T", errBroken, v)
	}
	var out [][]string
	for _, x := range list {
		ids, err := parseShard(x)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBroken, err)
		}
		out = append(out, ids)
	}
	return out, nil
}

func parseShard(v any) ([]string, error) {
	shard, err := anyMap(v)
	if err != nil {
		return nil, fmt.Errorf("a shard is %w", err)
	}
	nodes, ok := shard["nodes"].([]any)
	if !ok {
		return nil, fmt.Errorf("nodes of a shard are %T", shard["nodes"])
	}
	var ids []string
	for _, x := range nodes {
		node, err := anyMap(x)
		if err != nil {
			return nil, fmt.Errorf("a node of a shard is %w", err)
		}
		ids = append(ids, toString(node["id"]))
	}
	return ids, nil
}
