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

// Package docs reads the project's documentation, so that tests can hold it to
// what it says: the commands in it run, the manifests apply, the links lead
// somewhere, and no message of the provider goes unexplained.
package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Kinds of markers: HTML comments right above a block that say what tests make of
// it.
const (
	// MarkRun is for commands that are run; the detail says where, which is Local.
	MarkRun = "run"
	// MarkSame is for commands that another document runs; the detail is its path.
	MarkSame = "same"
	// MarkNotRun is for commands that no test can run; the detail is the reason.
	MarkNotRun = "not-run"
	// MarkNotApplied is for manifests that no test can apply; the detail is the
	// reason.
	MarkNotApplied = "not-applied"
)

// Local is where commands run: on this machine, with its local Kubernetes.
const Local = "local"

// Languages of blocks.
const (
	LangShell  = "sh"
	LangYAML   = "yaml"
	LangOutput = "text"
)

// A Block is one fenced block of a document.
type Block struct {
	// Doc is the path of the document from the root of the repository, and Line
	// the one on which the block begins.
	Doc  string
	Line int
	// Lang is the language that the fence names.
	Lang string
	// Mark and Detail are the block's marker, empty without one.
	Mark, Detail string
	// Text is what is in the block.
	Text string
	// Output is what commands promise to print: the block of output that follows
	// with nothing in between.
	Output string
}

// Where says where a block is, as compilers do.
func (b Block) Where() string { return fmt.Sprintf("%s:%d", b.Doc, b.Line) }

// Commands returns the lines of a block that are no comments, with those joined
// that go on in the next one.
func (b Block) Commands() []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(b.Text, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, " # ")
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// Files returns the paths of all documents from the root of the repository.
func Files(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	out := []string{"README.md"}
	for _, f := range files {
		out = append(out, "docs/"+filepath.Base(f))
	}
	return out, nil
}

// Read returns the text of a document.
func Read(root, doc string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(doc)))
	return string(data), err
}

// All returns the blocks of all documents.
func All(root string) ([]Block, error) {
	files, err := Files(root)
	if err != nil {
		return nil, err
	}
	var out []Block
	for _, f := range files {
		text, err := Read(root, f)
		if err != nil {
			return nil, err
		}
		blocks, err := Parse(f, text)
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return out, nil
}

var marker = regexp.MustCompile(`^<!-- ([a-z-]+): (.+) -->$`)

// A reader goes through a document line by line.
type reader struct {
	doc   string
	lines []string
	at    int
	out   []Block
	// touching is whether the last block of out ended right above, with at most
	// empty lines in between.
	touching bool
}

// Parse returns the blocks of a document. Its error says which block is never
// closed or, since a renderer takes it for one too, is made by indentation.
func Parse(doc, text string) ([]Block, error) {
	p := &reader{doc: doc, lines: strings.Split(text, "\n")}
	for p.at < len(p.lines) {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

func (p *reader) next() error {
	line := p.lines[p.at]
	switch {
	case strings.HasPrefix(strings.TrimLeft(line, " "), "```"):
		return p.block()
	case strings.HasPrefix(line, "    ") && (p.at == 0 || strings.TrimSpace(p.lines[p.at-1]) == ""):
		return fmt.Errorf("%s:%d: an indented block has no language and no marker; fence it", p.doc, p.at+1)
	case strings.TrimSpace(line) != "":
		p.touching = false
	}
	p.at++
	return nil
}

func (p *reader) block() error {
	open := p.lines[p.at]
	indent := len(open) - len(strings.TrimLeft(open, " "))
	b := Block{Doc: p.doc, Line: p.at + 1, Lang: strings.TrimLeft(strings.TrimSpace(open), "`")}
	if p.at > 0 {
		if m := marker.FindStringSubmatch(strings.TrimSpace(p.lines[p.at-1])); m != nil {
			b.Mark, b.Detail = m[1], m[2]
		}
	}
	end := slices.IndexFunc(p.lines[p.at+1:], func(l string) bool { return strings.TrimSpace(l) == "```" })
	if end < 0 {
		return fmt.Errorf("%s:%d: the block is never closed", p.doc, b.Line)
	}
	var text strings.Builder
	for _, l := range p.lines[p.at+1 : p.at+1+end] {
		text.WriteString(l[min(indent, len(l)-len(strings.TrimLeft(l, " "))):] + "\n")
	}
	b.Text = text.String()
	p.at += end + 2
	if n := len(p.out); p.touching && b.Lang == LangOutput && p.out[n-1].Lang == LangShell && p.out[n-1].Output == "" {
		p.out[n-1].Output = b.Text
	}
	p.out = append(p.out, b)
	p.touching = true
	return nil
}
