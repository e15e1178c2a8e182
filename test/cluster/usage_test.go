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
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	shipped "github.com/crossplane-contrib/provider-valkey/cluster/install"
	"github.com/crossplane-contrib/provider-valkey/internal/permissions"
)

// A spare is rights that tests may not use, and why the shipped role has them.
type spare struct{ verbs, resources, reason string }

var spares = []spare{
	{"get", "pods services networkpolicies.networking.k8s.io poddisruptionbudgets.policy valkeynodes.valkey.gomomento.com", "an object that is to be made exists, and the cache has not seen it yet"},
	{"get", "nodes", "a pod runs on a node that the cache has not seen yet"},
	{"update", "valkeyclusters/finalizers.valkey.gomomento.com valkeynodes/finalizers.valkey.gomomento.com", "OwnerReferencesPermissionEnforcement, where it is on, asks for it of whoever makes what an owner waits for"},
	{"create get update", "leases.coordination.k8s.io", "leader election is off in tests: after each kill they would wait for the lease to end"},
}

// wholeSuite tells whether all tests were to run.
func wholeSuite() bool {
	run, skip := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	return (run == "" || run == ".") && skip == ""
}

// usedAllRights returns an error unless the provider has used, since a moment, all
// rights of the shipped role but those that are spare, and was refused nothing.
func usedAllRights(since time.Time) error {
	has, err := permissions.Of(shipped.ClusterRole)
	if err != nil {
		return err
	}
	requests, err := audited(since)
	if err != nil {
		return err
	}
	return errors.Join(refused(requests), compareRights(has, requests, spares))
}

// A request is what the API server notes of one.
type request struct {
	Verb string
	User struct {
		Username string
	}
	Time      time.Time `json:"requestReceivedTimestamp"`
	URI       string    `json:"requestURI"`
	ObjectRef struct {
		APIGroup, Resource, Subresource string
	}
	Annotations map[string]string
}

func (r request) permission() permissions.Permission {
	p := permissions.Permission{Group: r.ObjectRef.APIGroup, Resource: r.ObjectRef.Resource, Verb: r.Verb}
	if r.ObjectRef.Subresource != "" {
		p.Resource += "/" + r.ObjectRef.Subresource
	}
	return p
}

// audited returns the requests of the provider since a moment, from the audit log
// and those that it was rotated to.
func audited(since time.Time) ([]request, error) {
	path := os.Getenv(auditVar)
	if path == "" {
		return nil, fmt.Errorf("set %s to the path of the API server's audit log", auditVar)
	}
	ext := filepath.Ext(path)
	files, err := filepath.Glob(strings.TrimSuffix(path, ext) + "*" + ext)
	if err != nil {
		return nil, err
	}
	var out []request
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		if st.ModTime().Before(since) {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		out = append(out, requestsIn(text, since)...)
	}
	return out, nil
}

func requestsIn(log []byte, since time.Time) []request {
	var out []request
	sc := bufio.NewScanner(bytes.NewReader(log))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		r := request{}
		if !bytes.Contains(sc.Bytes(), []byte(providerUser)) || json.Unmarshal(sc.Bytes(), &r) != nil {
			continue // The last line may be half written.
		}
		if r.User.Username == providerUser && !r.Time.Before(since) {
			out = append(out, r)
		}
	}
	return out
}

// refused returns the requests for which the provider lacked a right. Others may be
// forbidden too, as the creation of an object in a namespace that is being deleted.
func refused(requests []request) error {
	var errs []error
	for _, r := range requests {
		if r.Annotations["authorization.k8s.io/decision"] == "forbid" {
			errs = append(errs, fmt.Errorf("the shipped role is too small for: %s %s", r.Verb, r.URI))
		}
	}
	return errors.Join(errs...)
}

// compareRights returns an error that names what somebody may do, has not done and
// has no reason to spare.
func compareRights(has []permissions.Permission, requests []request, spares []spare) error {
	if !slices.ContainsFunc(requests, func(r request) bool { return r.Verb == "watch" }) {
		return errors.New("the audit log has no reads of the provider: start the API server with the audit policy of today, by cluster/local/local up")
	}
	used := map[permissions.Permission]bool{}
	for _, r := range requests {
		used[r.permission()] = true
	}
	for _, s := range spares {
		for r := range strings.FieldsSeq(s.resources) {
			resource, group, _ := strings.Cut(r, ".")
			for v := range strings.FieldsSeq(s.verbs) {
				p := permissions.Permission{Group: group, Resource: resource, Verb: v}
				if !slices.Contains(has, p) {
					return fmt.Errorf("spare, but not in the shipped role: %s %s", v, r)
				}
				used[p] = true
			}
		}
	}
	idle := slices.DeleteFunc(slices.Clone(has), func(p permissions.Permission) bool {
		if p.Verb == "list" {
			// Where the API server cannot stream what there is, a watch begins with a list.
			p.Verb = "watch"
		}
		return used[p]
	})
	if len(idle) == 0 {
		return nil
	}
	return fmt.Errorf("the shipped role permits what no test uses: %s; take it from the role, test it, or say in test/cluster/usage_test.go why it is there", permissions.Describe(idle))
}

func TestCompareRights(t *testing.T) {
	log := func(user string, lines ...string) string {
		out := strings.Builder{}
		for _, l := range lines {
			verb, resource, _ := strings.Cut(l, " ")
			resource, sub, _ := strings.Cut(resource, "/")
			fmt.Fprintf(&out, `{"verb":%q,"user":{"username":%q},"requestReceivedTimestamp":"2026-01-02T00:00:00.5Z","objectRef":{"resource":%q,"subresource":%q},"annotations":{"authorization.k8s.io/decision":"allow"}}`, verb, user, resource, sub)
			out.WriteByte('\n')
		}
		return out.String()
	}
	has := []permissions.Permission{{Resource: "pods", Verb: "list"}, {Resource: "pods", Verb: "watch"}, {Resource: "pods", Verb: "get"}, {Resource: "pods/status", Verb: "patch"}}
	idle := func(what string) string {
		return "the shipped role permits what no test uses: " + what + "; take it from the role, test it, or say in test/cluster/usage_test.go why it is there"
	}
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		log    string
		since  time.Time
		spares []spare
		want   string
	}{
		"All":     {"All rights are used.", log(providerUser, "watch pods", "get pods", "patch pods/status"), day, nil, ""},
		"Idle":    {"One is not.", log(providerUser, "watch pods", "get pods", "patch pods"), day, nil, idle("patch pods/status")},
		"Spare":   {"But it is for something else.", log(providerUser, "watch pods", "get pods"), day, []spare{{"patch", "pods/status", "x"}}, ""},
		"Unknown": {"A reason for what the role does not have.", log(providerUser, "watch pods", "get pods", "patch pods/status"), day, []spare{{"get", "pods.x", "x"}}, "spare, but not in the shipped role: get pods.x"},
		"Others":  {"What others do does not count.", log(providerUser, "watch pods", "patch pods/status") + log("admin", "get pods"), day, nil, idle("get pods")},
		"Before":  {"Nor what was before.", log(providerUser, "watch pods"), day.Add(time.Second), nil, "the audit log has no reads of the provider: start the API server with the audit policy of today, by cluster/local/local up"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := compareRights(has, requestsIn([]byte(tc.log), tc.since), tc.spares); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	forbidden := strings.Replace(log(providerUser, "get pods"), `"allow"`, `"forbid"`, 1)
	if refused(requestsIn([]byte(forbidden), day)) == nil || refused(requestsIn([]byte(cases["All"].log), day)) != nil {
		t.Error("only what was forbidden counts as refused")
	}
}
