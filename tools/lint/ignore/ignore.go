// Package ignore lets a comment silence a finding, with a reason, for every analyzer alike:
//
//	//lint:ignore SA1019,errors the old name is what version 1 wrote
//	//lint:file-ignore filesize a table, one row per command
//
// The first covers the line it stands on or, alone on its line, the line after its comment. The second covers its
// file. A directive without a reason covers nothing, and [Checker] reports it.
package ignore

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const (
	lineForm = "//lint:ignore"
	fileForm = "//lint:file-ignore"
)

// directive is one comment of either form.
type directive struct {
	pos       token.Pos
	checks    []string // names or patterns of [path.Match]; may be empty when malformed
	reason    string
	wholeFile bool
	line      int // the line covered, unless wholeFile
}

func (d directive) covers(check string, line int) bool {
	if d.reason == "" || !d.wholeFile && d.line != line {
		return false
	}
	return slices.ContainsFunc(d.checks, func(pattern string) bool {
		matched, err := path.Match(pattern, check)
		return err == nil && matched
	})
}

// Honour changes the analyzers so that they keep silent where a directive covers a finding, and so that every finding
// ends with the name of its check, which is what a directive needs to say.
func Honour(analyzers []*analysis.Analyzer) {
	for _, analyzer := range analyzers {
		run := analyzer.Run
		analyzer.Run = func(pass *analysis.Pass) (any, error) {
			silenced := *pass
			silenced.Report = func(finding analysis.Diagnostic) {
				if covered(pass, finding.Pos) {
					return
				}
				finding.Message += " (" + pass.Analyzer.Name + ")"
				pass.Report(finding)
			}
			return run(&silenced)
		}
	}
}

func covered(pass *analysis.Pass, pos token.Pos) bool {
	position := pass.Fset.Position(pos)
	for _, file := range pass.Files {
		if pass.Fset.File(file.FileStart) != pass.Fset.File(pos) {
			continue
		}
		for _, d := range directives(pass, file) {
			if d.covers(pass.Analyzer.Name, position.Line) {
				return true
			}
		}
	}
	return false
}

func directives(pass *analysis.Pass, file *ast.File) []directive {
	var found []directive
	for _, group := range file.Comments {
		for _, comment := range group.List {
			d, ok := parse(comment)
			if !ok {
				continue
			}
			d.line = pass.Fset.Position(comment.Pos()).Line
			if aloneOnItsLine(pass, comment) {
				d.line = pass.Fset.Position(group.End()).Line + 1
			}
			found = append(found, d)
		}
	}
	return found
}

func parse(comment *ast.Comment) (directive, bool) {
	d := directive{pos: comment.Pos()}
	rest, ok := strings.CutPrefix(comment.Text, lineForm)
	if !ok {
		if rest, d.wholeFile = strings.CutPrefix(comment.Text, fileForm); !d.wholeFile {
			return d, false
		}
	}
	if words := strings.Fields(rest); len(words) > 0 {
		d.checks = strings.Split(words[0], ",")
		d.reason = strings.Join(words[1:], " ")
	}
	return d, true
}

// aloneOnItsLine looks at the text: the syntax tree does not say what precedes a comment. A file that cannot be read
// has been parsed a moment ago, so it is treated as the usual case.
func aloneOnItsLine(pass *analysis.Pass, comment *ast.Comment) bool {
	position := pass.Fset.Position(comment.Pos())
	source, err := pass.ReadFile(position.Filename)
	if err != nil || position.Offset > len(source) {
		return true
	}
	before := string(source[:position.Offset])
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return strings.TrimSpace(before) == ""
}
