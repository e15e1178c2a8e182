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
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// languages that blocks may have.
var languages = []string{LangShell, LangYAML, LangOutput, "mermaid"}

// Unmarked returns what is wrong with the markers of blocks: a command that is
// neither run nor has a reason why not, or a marker that says nothing.
func Unmarked(blocks []Block) []string {
	var out []string
	for _, b := range blocks {
		if why := unmarked(b, blocks); why != "" {
			out = append(out, b.Where()+": "+why)
		}
	}
	return out
}

func unmarked(b Block, all []Block) string {
	switch {
	case !slices.Contains(languages, b.Lang):
		return fmt.Sprintf("the block's language is %q instead of one of %s", b.Lang, strings.Join(languages, ", "))
	case b.Lang == LangShell && b.Mark == "":
		return "no marker says whether the commands are run: run, same or not-run"
	case b.Mark == "":
		return ""
	case b.Lang == LangShell:
		return misrun(b, all)
	case b.Lang == LangYAML && b.Mark == MarkNotApplied:
		return unreasoned(b)
	}
	return fmt.Sprintf("the marker %q is not for a block of %s", b.Mark, b.Lang)
}

func misrun(b Block, all []Block) string {
	switch b.Mark {
	case MarkRun:
		if b.Detail != Local {
			return fmt.Sprintf("commands run at %q, and nowhere else than at %q", b.Detail, Local)
		}
		return ""
	case MarkNotRun:
		return unreasoned(b)
	case MarkSame:
		return missing(b, all)
	}
	return fmt.Sprintf("the marker %q is none of run, same and not-run", b.Mark)
}

// unreasoned wants more than a word for a reason.
func unreasoned(b Block) string {
	if len(strings.Fields(b.Detail)) < 3 {
		return fmt.Sprintf("%q is no reason", b.Detail)
	}
	return ""
}

// missing returns the first command of a block that the other document does not
// run.
func missing(b Block, all []Block) string {
	var runs []string
	for _, o := range all {
		if o.Doc == b.Detail && o.Lang == LangShell && o.Mark == MarkRun {
			runs = append(runs, o.Commands()...)
		}
	}
	for _, c := range b.Commands() {
		if !slices.Contains(runs, c) {
			return fmt.Sprintf("%s does not run %q", b.Detail, c)
		}
	}
	return ""
}

// Matches tells whether commands printed what a document promises. Each promised
// line has to be there, in that order; the ellipsis … stands for anything, and
// amounts of white space do not count. It returns the first line that is missing.
func Matches(promised, printed string) (missing string, ok bool) {
	lines := strings.Split(printed, "\n")
	for want := range strings.SplitSeq(strings.TrimSpace(promised), "\n") {
		if strings.TrimSpace(want) == "…" {
			continue
		}
		p := pattern(want)
		i := slices.IndexFunc(lines, func(l string) bool { return p.MatchString(strings.Join(strings.Fields(l), " ")) })
		if i < 0 {
			return want, false
		}
		lines = lines[i+1:]
	}
	return "", true
}

func pattern(line string) *regexp.Regexp {
	parts := strings.Split(strings.Join(strings.Fields(line), " "), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// Links returns the targets of a document's links that lead to other files or to
// headings.
func Links(text string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		if !strings.Contains(m[1], "://") {
			out = append(out, m[1])
		}
	}
	return out
}

// Anchors returns the anchors of a document's headings.
func Anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		out = append(out, anchor(m[1]))
	}
	return out
}

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func anchor(title string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}
