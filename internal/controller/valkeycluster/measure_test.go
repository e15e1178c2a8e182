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
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/metrics"
	"github.com/crossplane-contrib/provider-valkey/internal/topology"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
)

func TestPromotedBy(t *testing.T) {
	cases := map[string]struct {
		reason  string
		ordered []string
		want    string
	}{
		"Nobody":   {"Without an order the servers decided.", nil, metrics.CauseValkey},
		"Another":  {"An order to another member does not count.", []string{"b" + string(topology.FailoverForce)}, metrics.CauseValkey},
		"Planned":  {"The lossless mode is a planned hand over.", []string{"a" + string(topology.FailoverDefault)}, metrics.CausePlanned},
		"Forced":   {"Force means a dead primary.", []string{"a" + string(topology.FailoverForce)}, metrics.CauseForced},
		"Takeover": {"Takeover means a lost majority.", []string{"a" + string(topology.FailoverTakeover)}, metrics.CauseTakeover},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.ValkeyCluster{}
			e := &external{memory: newMemory()}
			for _, o := range tc.ordered {
				e.memory.cool(c, o, time.Second)
			}
			if got := e.promotedBy(c, "a"); got != tc.want {
				t.Errorf("\n%s\ncause is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestErrorKind(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Gossip":      {"A node that is not known yet will be.", &valkey.ServerError{Code: "ERR", Message: "Unknown node 0123"}, ""},
		"Unreachable": {"A connection that ends is no answer.", fmt.Errorf("cannot ask: %w", io.EOF), metrics.ErrorUnreachable},
		"TLS":         {"A certificate that is not trusted is no matter of the network.", x509.UnknownAuthorityError{}, metrics.ErrorTLS},
		"Password":    {"A wrong password is denied.", &valkey.ServerError{Code: "WRONGPASS"}, metrics.ErrorDenied},
		"Permission":  {"A missing permission is denied.", fmt.Errorf("cannot: %w", &valkey.ServerError{Code: "NOPERM"}), metrics.ErrorDenied},
		"Answer":      {"What else a server answers counts too.", &valkey.ServerError{Code: "ERR", Message: "syntax error"}, metrics.ErrorOther},
		"Own":         {"So does what went wrong before.", errors.New("member a has no pod"), metrics.ErrorOther},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := errorKind(tc.err); got != tc.want {
				t.Errorf("\n%s\nkind is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
