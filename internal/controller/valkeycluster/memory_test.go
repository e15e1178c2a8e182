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
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

func TestUnlessWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &external{memory: newMemory()}
		c := &v1alpha1.ValkeyCluster{}
		steps := []struct {
			reason      string
			wait        time.Duration
			where, what string
			want        bool
		}{
			{"What was never written is.", 0, "a", "1", true},
			{"The cache may not show it yet.", time.Second, "a", "1", false},
			{"Something else is another matter.", 0, "a", "2", true},
			{"So is something that was overwritten since.", 0, "a", "1", true},
			{"And another place.", 0, "b", "1", true},
			{"After a while the cache is believed.", writtenFor, "a", "1", true},
		}
		for _, s := range steps {
			time.Sleep(s.wait)
			got := false
			err := e.unlessWritten(c, s.where, s.what, func() error { got = true; return nil })
			if err != nil || got != s.want {
				t.Errorf("%s written: %t, %v", s.reason, got, err)
			}
		}
	})
}

func TestUnlessWrittenAfterFailure(t *testing.T) {
	e := &external{memory: newMemory()}
	tries := 0
	for range 2 {
		err := e.unlessWritten(&v1alpha1.ValkeyCluster{}, "a", "1", func() error {
			tries++
			return io.EOF
		})
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
	if tries != 2 {
		t.Errorf("what failed was tried %d times, want 2", tries)
	}
}

// TestUID has a member that got the name of a dead one counted as another.
func TestUID(t *testing.T) {
	named := func(uid types.UID) *findings {
		o := &v1alpha1.ValkeyNode{}
		o.SetName("a-1")
		o.SetUID(uid)
		return &findings{nodes: []*node{{obj: o}}}
	}
	got := []string{named("dead").uid("a-1"), named("new").uid("a-1")}
	if diff := cmp.Diff([]string{"dead", "new"}, got); diff != "" {
		t.Errorf("uid(...): -want, +got:\n%s", diff)
	}
}
