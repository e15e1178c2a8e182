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
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

const (
	// logPatience is how long a newcomer runs before its log is looked at.
	logPatience = 5 * time.Second
	// logLines and logWords bound what is read of a log and told of it.
	logLines = 60
	logWords = 3
	// wordsFor is how long what a log said is told, so that a server that tries
	// again and again does not change the status as often.
	wordsFor = time.Minute
)

// A logReader returns the newest lines of the log of a member.
type logReader func(ctx context.Context, namespace, pod string) (string, error)

func newLogReader(c *rest.Config) (logReader, error) {
	k, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for logs: %w", err)
	}
	return func(ctx context.Context, namespace, pod string) (string, error) {
		o := &corev1.PodLogOptions{Container: common.ContainerName, TailLines: ptr.To[int64](logLines)}
		b, err := k.CoreV1().Pods(namespace).GetLogs(pod, o).DoRaw(ctx)
		return string(b), err
	}, nil
}

// readLogs looks why newcomers do not sync. What cannot be read is not told.
func (e *external) readLogs(ctx context.Context, c *v1alpha1.ValkeyCluster, nodes []*node, now time.Time) {
	for _, n := range nodes {
		if !n.lags(now) {
			continue
		}
		n.words = e.memory.words(c, string(n.obj.UID), func() string {
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			out, err := e.logs(ctx, n.obj.Namespace, n.obj.Name)
			if err != nil {
				e.log.Debug("Cannot read a log", "node", n.obj.Name, "error", err)
			}
			return lastWords(out)
		})
	}
}

// lags tells whether a newcomer follows a primary and has no link to it.
func (n *node) lags(now time.Time) bool {
	return n.state != nil && n.obj.Spec.Lifecycle == v1alpha1.LifecycleJoining && n.state.Replication.Role == valkey.RoleReplica &&
		!n.state.Replication.LinkUp && now.Sub(n.pod.CreationTimestamp.Time) > logPatience
}

// A line is: pid:role day month year time level text (Valkey 8.0 to 9.1). The level
// # is that of warnings.
var logLine = regexp.MustCompile(`^\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ ([.\-*#]) (.*)$`)

// lastWords returns the last warnings of a log, each once, or its last line.
func lastWords(log string) string {
	var warnings []string
	last := ""
	for line := range strings.Lines(log) {
		m := logLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		last = m[2]
		if m[1] != "#" {
			continue
		}
		warnings = slices.DeleteFunc(warnings, func(s string) bool { return s == m[2] })
		warnings = append(warnings, m[2])
	}
	if len(warnings) == 0 {
		return last
	}
	return strings.Join(warnings[max(0, len(warnings)-logWords):], " / ")
}
