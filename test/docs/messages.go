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
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Said is what the provider's code can tell users: sentences, with … for what is
// filled in, and reasons of conditions and events, each with the place of one of
// its uses.
type Said struct {
	Sentences, Reasons map[string]string
}

// Collect reads Go files below folders, without their tests, for what they tell. A
// sentence is every literal with a space in it, wherever it is: one that is not
// meant for users has to be named by whoever calls this. A reason is a literal of
// one word where a reason belongs.
func Collect(root string, folders ...string) (Said, error) {
	out := Said{Sentences: map[string]string{}, Reasons: map[string]string{}}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return out.read(rel, src)
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s Said) read(name string, src []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			// A tag is no sentence.
			n.Tag = nil
		case *ast.CallExpr:
			if silent(n) {
				return false
			}
			s.reasonOfCall(fset, n)
		case *ast.ValueSpec:
			for i, v := range n.Values {
				s.reason(fset, named(n.Names, i) || isReason(n.Type), v)
			}
		case *ast.AssignStmt:
			for i, v := range n.Rhs {
				s.reason(fset, len(n.Lhs) == len(n.Rhs) && isReason(n.Lhs[i]), v)
			}
		case *ast.KeyValueExpr:
			s.reason(fset, isReason(n.Key), n.Value)
		case *ast.BasicLit:
			if text := literal(n); strings.Contains(strings.TrimSpace(text), " ") {
				s.Sentences[Blank(text)] = fset.Position(n.Pos()).String()
			}
		}
		return true
	})
	return nil
}

// silent tells whether a call is for a log or for the help text of a flag.
func silent(c *ast.CallExpr) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Info", "Debug", "WithValues", "Flag", "New"}, f.Sel.Name) && !isPackage(f.X, "errors")
}

func isPackage(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// reasonOfCall notes reasons that are arguments: of event.Normal and
// event.Warning, of conversions to event.Reason, and of what hands them on.
func (s Said) reasonOfCall(fset *token.FileSet, c *ast.CallExpr) {
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if isPackage(f.X, "event") || isReason(f.Sel) || f.Sel.Name == "valkeyError" {
		for _, a := range c.Args {
			s.reason(fset, true, a)
		}
	}
}

func named(ids []*ast.Ident, i int) bool { return i < len(ids) && isReason(ids[i]) }

// isReason tells from its name whether something is a reason.
func isReason(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasPrefix(e.Name, "Reason") || strings.HasPrefix(e.Name, "reason")
	case *ast.SelectorExpr:
		return isReason(e.Sel)
	}
	return false
}

var word = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

func (s Said) reason(fset *token.FileSet, belongs bool, e ast.Expr) {
	lit, ok := e.(*ast.BasicLit)
	if !belongs || !ok {
		return
	}
	if text := literal(lit); word.MatchString(text) {
		s.Reasons[text] = fset.Position(lit.Pos()).String()
	}
}

func literal(l *ast.BasicLit) string {
	if l.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(l.Value)
	if err != nil {
		return ""
	}
	return text
}

var (
	verb    = regexp.MustCompile(`%[a-zA-Z]`)
	several = regexp.MustCompile(`…{2,}`)
)

func endsInLetter(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r)
}

// Blank writes … for what is filled into a sentence, and leaves away what only
// joins it to others.
func Blank(sentence string) string {
	text := several.ReplaceAllString(verb.ReplaceAllString(sentence, "…"), "…")
	// What follows a word at once is another sentence or nothing.
	if head, ok := strings.CutSuffix(text, "…"); ok && endsInLetter(head) {
		text = head
	}
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(":;", r) })
	return strings.Join(strings.Fields(text), " ")
}

// Plain takes what Markdown adds off a text, so that sentences can be found in it.
func Plain(markdown string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("`", "", `\|`, "|").Replace(markdown)), " ")
}

var quoted = regexp.MustCompile("(?m)^\\| (`[^|]*?`) \\|")

// Explained returns the sentences that tables of a document explain: what is
// quoted in their first column.
func Explained(markdown string) []string {
	var out []string
	for _, m := range quoted.FindAllStringSubmatch(strings.ReplaceAll(markdown, `\|`, "\x00"), -1) {
		for s := range strings.SplitSeq(strings.Trim(m[1], "`"), "`, `") {
			out = append(out, strings.ReplaceAll(s, "\x00", "|"))
		}
	}
	return out
}

// Sorted returns the keys of a map in order.
func Sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
