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
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root of the repository.
const root = "../.."

func fence(lang, text string) string { return "```" + lang + "\n" + text + "```\n" }

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   []Block
		fails  string
	}{
		"Bare": {
			reason: "A block has its language and its place.",
			text:   "# Title\n\n" + fence("yaml", "a: 1\n"),
			want:   []Block{{Doc: "x.md", Line: 3, Lang: "yaml", Text: "a: 1\n"}},
		},
		"Marked": {
			reason: "A comment right above is a block's marker.",
			text:   "<!-- not-run: needs a moon -->\n" + fence("sh", "fly\n"),
			want:   []Block{{Doc: "x.md", Line: 2, Lang: "sh", Mark: MarkNotRun, Detail: "needs a moon", Text: "fly\n"}},
		},
		"MarkerIsOfOneBlock": {
			reason: "A marker does not reach beyond an empty line.",
			text:   "<!-- run: local -->\n\n" + fence("sh", "true\n"),
			want:   []Block{{Doc: "x.md", Line: 3, Lang: "sh", Text: "true\n"}},
		},
		"Output": {
			reason: "Output that follows belongs to the commands.",
			text:   fence("sh", "echo a\n") + "\n" + fence("text", "a\n"),
			want: []Block{
				{Doc: "x.md", Line: 1, Lang: "sh", Text: "echo a\n", Output: "a\n"},
				{Doc: "x.md", Line: 5, Lang: "text", Text: "a\n"},
			},
		},
		"OutputAfterWords": {
			reason: "Text in between means that it is not their output.",
			text:   fence("sh", "echo a\n") + "\nLater:\n\n" + fence("text", "b\n"),
			want: []Block{
				{Doc: "x.md", Line: 1, Lang: "sh", Text: "echo a\n"},
				{Doc: "x.md", Line: 7, Lang: "text", Text: "b\n"},
			},
		},
		"InAList": {
			reason: "A block of a list is indented as the list is.",
			text:   "1. First:\n\n   <!-- run: local -->\n   ```sh\n   if true; then\n     true\n   fi\n   ```\n",
			want:   []Block{{Doc: "x.md", Line: 4, Lang: "sh", Mark: MarkRun, Detail: Local, Text: "if true; then\n  true\nfi\n"}},
		},
		"Indented":    {reason: "Nobody checks a block without a fence.", text: "So:\n\n    make\n", fails: "x.md:3: an indented block has no language and no marker; fence it"},
		"NeverClosed": {reason: "The rest of the document would be taken for a block.", text: "```sh\nmake\n", fails: "x.md:1: the block is never closed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("x.md", tc.text)
			failed := ""
			if err != nil {
				failed = err.Error()
			}
			if diff := cmp.Diff(tc.fails, failed); diff != "" {
				t.Errorf("\n%s\nerror: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUnmarked(t *testing.T) {
	ran := Block{Doc: "docs/a.md", Lang: "sh", Mark: MarkRun, Detail: Local, Text: "make one  # the first\nkubectl apply \\\n  -f x\n"}
	cases := map[string]struct {
		reason string
		block  Block
		want   []string
	}{
		"Run":              {"Commands may be run.", Block{Lang: "sh", Mark: MarkRun, Detail: Local}, nil},
		"Forgotten":        {"Commands without a marker are an oversight.", Block{Lang: "sh"}, []string{":0: no marker says whether the commands are run: run, same or not-run"}},
		"Elsewhere":        {"Nothing runs commands on kind.", Block{Lang: "sh", Mark: MarkRun, Detail: "kind"}, []string{`:0: commands run at "kind", and nowhere else than at "local"`}},
		"Reasoned":         {"What cannot be run has a reason.", Block{Lang: "sh", Mark: MarkNotRun, Detail: "it needs Docker"}, nil},
		"NoReason":         {"A word is no reason.", Block{Lang: "sh", Mark: MarkNotRun, Detail: "Docker"}, []string{`:0: "Docker" is no reason`}},
		"Misspelt":         {"A marker that nobody knows marks nothing.", Block{Lang: "sh", Mark: "runs", Detail: Local}, []string{`:0: the marker "runs" is none of run, same and not-run`}},
		"Same":             {"Another document runs it, comments and line ends aside.", Block{Lang: "sh", Mark: MarkSame, Detail: "docs/a.md", Text: "make one\nkubectl apply -f x\n"}, nil},
		"NotTheSame":       {"Another document runs something else.", Block{Lang: "sh", Mark: MarkSame, Detail: "docs/a.md", Text: "make two\n"}, []string{`:0: docs/a.md does not run "make two"`}},
		"NoLanguage":       {"What a block is has to be known.", Block{}, []string{`:0: the block's language is "" instead of one of sh, yaml, text, mermaid`}},
		"Manifest":         {"Manifests need no marker to be applied.", Block{Lang: "yaml"}, nil},
		"ManifestNotOurs":  {"A manifest that cannot be applied has a reason.", Block{Lang: "yaml", Mark: MarkNotApplied, Detail: "kind reads it itself"}, nil},
		"MarkerOfCommands": {"A manifest is not run.", Block{Lang: "yaml", Mark: MarkRun, Detail: Local}, []string{`:0: the marker "run" is not for a block of yaml`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := slices.DeleteFunc(Unmarked([]Block{ran, tc.block}), func(s string) bool { return strings.HasPrefix(s, ran.Doc) })
			if diff := cmp.Diff(tc.want, got, nilIsEmpty); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

var nilIsEmpty = cmp.Transformer("nilIsEmpty", func(s []string) []string { return append([]string{}, s...) })

func TestMatches(t *testing.T) {
	const printed = "NAME    STATE\nhello   Active\nworld   Creating\n"
	cases := map[string]struct {
		reason, promised, missing string
	}{
		"All":        {"Amounts of white space do not count.", "NAME STATE\nhello Active\nworld Creating\n", ""},
		"Some":       {"Lines may be left out.", "hello   Active\n", ""},
		"Ellipsis":   {"The ellipsis is anything.", "…\nw…   Creat…\n", ""},
		"OtherOrder": {"The order counts.", "world Creating\nhello Active\n", "hello Active"},
		"Missing":    {"A line that was not printed is told.", "hello Invalid\n", "hello Invalid"},
		"Part":       {"A part of a line is not the line.", "hello\n", "hello"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			missing, ok := Matches(tc.promised, printed)
			if missing != tc.missing || ok != (tc.missing == "") {
				t.Errorf("\n%s\ngot %q, %t, want %q", tc.reason, missing, ok, tc.missing)
			}
		})
	}
}

// TestBlocks holds every block of the documentation to having a marker.
func TestBlocks(t *testing.T) {
	blocks, err := All(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) < 20 {
		t.Errorf("there are only %d blocks", len(blocks))
	}
	for _, why := range Unmarked(blocks) {
		t.Error(why)
	}
}

// TestLinks follows the links within the repository.
func TestLinks(t *testing.T) {
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range files {
		text, err := Read(root, doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range Links(text) {
			if why := broken(t, doc, l); why != "" {
				t.Errorf("%s: the link to %s leads nowhere: %s", doc, l, why)
			}
		}
	}
}

func broken(t *testing.T, doc, target string) string {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	to := doc
	if file != "" {
		to = path.Join(path.Dir(doc), file)
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "there is no such file"
	}
	if anchor == "" {
		return ""
	}
	text, err := Read(root, to)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(Anchors(text), anchor) {
		return "there is no such heading"
	}
	return ""
}

// TestReadme wants every document and every folder of examples to be reached from
// the README.
func TestReadme(t *testing.T) {
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Read(root, "README.md")
	if err != nil {
		t.Fatal(err)
	}
	links := Links(text)
	for _, f := range files[1:] {
		if !slices.Contains(links, f) {
			t.Errorf("the README does not link to %s", f)
		}
	}
}
