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

package docs

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// told are the folders of all code whose words may reach a status, a condition or
// an event.
var told = []string{
	"cmd/provider", "internal/acl", "internal/catalog", "internal/controller", "internal/fleet", "internal/manifest", "internal/permissions",
	"internal/servingcert", "internal/settings", "internal/topology", "internal/valkey",
}

// untold are sentences that users never read, by a part of the place where they
// are, with the reason. An empty list means all of the file.
var untold = map[string]struct {
	reason    string
	sentences []string
}{
	"internal/topology/sim/":                       {"a simulation that only tests use", nil},
	"internal/topology/plan.go":                    {"names of rules, for tests", nil},
	"internal/acl/verify.go":                       {"a check of what we render ourselves; users mend nothing by it", nil},
	"internal/acl/file.go":                         {"the same", []string{"the ACL file would not say what its users were given"}},
	"internal/permissions/permissions.go":          {"the file is built into the program", []string{"cannot read the ClusterRole: …"}},
	"internal/manifest/names.go":                   {"the schema says it, and nothing else calls this", nil},
	"internal/settings/forced.go":                  {"a value of a setting", nil},
	"internal/settings/check.go":                   {"joins a proposal to its sentence", []string{", write"}},
	"internal/servingcert/parse.go":                {"names of PEM blocks", []string{"ENCRYPTED PRIVATE KEY", "PRIVATE KEY"}},
	"internal/controller/common/pods.go":           {"what container runtimes and servers say, to be recognised", []string{"executable file not found", "no such file or directory", "FATAL CONFIG FILE ERROR"}},
	"internal/controller/valkeycluster/logs.go":    {"a pattern, and an error at the start that cannot happen with a good kubeconfig", nil},
	"internal/controller/valkeycluster/act.go":     {"a case for each action, held by a test, and keys of what was written", []string{"unknown action …", "phase of", "status of"}},
	"internal/controller/valkeycluster/acl.go":     {"input of a digest", []string{"… …"}},
	"internal/valkey/acl.go":                       {"names of commands, quoted in front of their errors", nil},
	"internal/valkey/config.go":                    {"the same", nil},
	"internal/valkey/functions.go":                 {"the same", nil},
	"internal/valkey/keys.go":                      {"the same", nil},
	"internal/valkey/state.go":                     {"the same", []string{"asking for the state", "asking for settings and users"}},
	"internal/valkey/errors.go:":                   {"what servers answer, to be recognised", nil},
	"internal/valkey/info.go":                      {"details of an unexpected reply", nil},
	"internal/valkey/migration.go":                 {"details of an unexpected reply", nil},
	"internal/valkey/nodes.go":                     {"details of an unexpected reply", nil},
	"internal/valkey/reply.go":                     {"details of an unexpected reply", nil},
	"internal/valkey/shards.go":                    {"details of an unexpected reply", nil},
	"internal/valkey/slots.go":                     {"details of an unexpected reply", nil},
	"internal/valkey/state.go:":                    {"details of an unexpected reply", []string{"…: no line of CLUSTER NODES is about the server itself"}},
	"internal/controller/valkeycluster/objects.go": {"put together from others", []string{"cannot … …: …"}},
}

// alwaysTold are sentences of the same places that users do read.
var alwaysTold = []string{"unexpected reply", "cannot connect"}

func isUntold(sentence, place string) bool {
	if slices.Contains(alwaysTold, sentence) {
		return false
	}
	for part, u := range untold {
		if strings.Contains(place, part) && (len(u.sentences) == 0 || slices.Contains(u.sentences, sentence)) {
			return true
		}
	}
	return false
}

// said collects what the code tells.
func said(t *testing.T) Said {
	t.Helper()
	all, err := Collect(root, told...)
	if err != nil {
		t.Fatal(err)
	}
	for s, place := range all.Sentences {
		if isUntold(s, place) {
			delete(all.Sentences, s)
		}
	}
	for r, place := range all.Reasons {
		// Reasons of the catalog's errors are for its tests: a cluster is Invalid.
		if strings.Contains(place, "internal/catalog/") || strings.Contains(place, "topology/sim/") {
			delete(all.Reasons, r)
		}
	}
	return all
}

// explanations are the documents that explain messages.
var explanations = []string{"docs/messages.md", "docs/operations.md"}

func explained(t *testing.T) (markdown string) {
	t.Helper()
	for _, doc := range explanations {
		text, err := Read(root, doc)
		if err != nil {
			t.Fatal(err)
		}
		markdown += text
	}
	return markdown
}

// TestMessages fails for a message of the provider that no document explains, and
// for one that is explained but not in the code.
func TestMessages(t *testing.T) {
	all, markdown := said(t), explained(t)
	if len(all.Sentences) < 100 {
		t.Fatalf("only %d messages were found in the code", len(all.Sentences))
	}
	plain := unquoted(Plain(markdown))
	for _, s := range Sorted(all.Sentences) {
		if !strings.Contains(plain, s) {
			t.Errorf("%s: no row of docs/messages.md explains %q", all.Sentences[s], s)
		}
	}
	text, err := Read(root, "docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Explained(text) {
		if left := unsaid(e, all.Sentences); strings.Contains(e, " ") && !strings.Contains(e, "`") && len(left) > 10 {
			t.Errorf("docs/messages.md explains %q, of which %q is not in the code", e, left)
		}
	}
}

// unsaid returns the letters of an explained message that no sentence of the code
// has. An example of what is filled in has few.
func unsaid(message string, sentences map[string]string) string {
	byLength := Sorted(sentences)
	slices.SortStableFunc(byLength, func(a, b string) int { return len(b) - len(a) })
	left := unquoted(message)
	for _, s := range byLength {
		if core := strings.Trim(s, "… :"); core != "" {
			left = strings.ReplaceAll(left, core, "")
		}
	}
	return notLetters.ReplaceAllString(left, "")
}

var notLetters = regexp.MustCompile(`\P{L}`)

// unquoted takes away the quotes around what is filled in: whether there are any
// depends on the verb.
func unquoted(s string) string { return strings.ReplaceAll(s, `"…"`, "…") }

// TestReasons fails for a reason of a condition or an event that no document
// explains.
func TestReasons(t *testing.T) {
	reasons := said(t).Reasons
	for _, c := range []xpv2.Condition{
		xpv2.Available(), xpv2.Unavailable(), xpv2.Creating(), xpv2.Deleting(),
		xpv2.ReconcileSuccess(), xpv2.ReconcileError(errors.New("x")), xpv2.ReconcilePaused(),
	} {
		reasons[string(c.Reason)] = "Crossplane's conditions"
	}
	// A change of state is told under its name.
	for _, s := range []v1alpha1.ClusterState{v1alpha1.StateCreating, v1alpha1.StateActive, v1alpha1.StateInvalid} {
		reasons[string(s)] = "states"
	}
	for r := range reasonsOfRuntime(t) {
		reasons[r] = "crossplane-runtime"
	}
	if len(reasons) < 40 {
		t.Fatalf("only %d reasons were found in the code", len(reasons))
	}
	markdown := explained(t)
	for _, r := range Sorted(reasons) {
		if !strings.Contains(markdown, "`"+r+"`") {
			t.Errorf("%s: no document explains the reason %s", reasons[r], r)
		}
	}
}

// perPass are events of crossplane-runtime that the provider drops.
var perPass = regexp.MustCompile("^((Deleted|Created|Updated|Pending)ExternalResource|ReconciliationPaused)$")

// reasonsOfRuntime returns the reasons of events that crossplane-runtime sends in
// our name.
func reasonsOfRuntime(t *testing.T) map[string]string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed").Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := Collect(strings.TrimSpace(string(dir)), ".")
	if err != nil {
		t.Fatal(err)
	}
	for r := range out.Reasons {
		if perPass.MatchString(r) {
			delete(out.Reasons, r)
		}
	}
	return out.Reasons
}

func TestCollect(t *testing.T) {
	const src = `package x
import "a b"
type t struct { F int ` + "`json:\"a b\"`" + ` }
const reasonGone event.Reason = "ItIsGone"
const other = "NoReason"
func f() error {
	log.Info("nobody reads this")
	e.record.Event(c, event.Warning("Blocked", fmt.Errorf("member %s holds %d keys: %w", a, b, err)))
	x := condition{Reason: "Valid", Message: "; all is well"}
	x.Reason = "Expired"
	return errors.New("it is gone")
}`
	got := Said{Sentences: map[string]string{}, Reasons: map[string]string{}}
	if err := got.read("x.go", []byte(src)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"all is well", "it is gone", "member … holds … keys: …"}, Sorted(got.Sentences)); diff != "" {
		t.Errorf("sentences: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Blocked", "Expired", "ItIsGone", "Valid"}, Sorted(got.Reasons)); diff != "" {
		t.Errorf("reasons: -want, +got:\n%s", diff)
	}
}

func TestExplained(t *testing.T) {
	const table = "| Message | What |\n| --- | --- |\n| `a …`, `b \\| c` | `d e` |\n"
	if diff := cmp.Diff([]string{"a …", "b | c"}, Explained(table)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
