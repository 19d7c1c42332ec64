package main

import (
	"cmp"
	"go/token"
	"strings"

	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// uncheckedErrors reports what errcheck found, except where nobody could do anything with the error.
var uncheckedErrors = &analysis.Analyzer{
	Name:     "errcheck",
	Doc:      "reports errors that are dropped without being assigned to the blank identifier",
	Requires: []*analysis.Analyzer{errcheck.Analyzer},
	Run:      runUncheckedErrors,
}

func runUncheckedErrors(pass *analysis.Pass) (any, error) {
	for _, dropped := range pass.ResultOf[errcheck.Analyzer].(errcheck.Result).UncheckedErrors {
		if mayBeDropped(dropped) {
			continue
		}
		name := cmp.Or(dropped.SelectorName, dropped.FuncName, strings.TrimSpace(dropped.Line))
		pass.Reportf(at(pass, dropped.Pos), "the error of %s is dropped: handle it, or assign it to _ and say why",
			name)
	}
	return nil, nil
}

// mayBeDropped tells a deferred Close, which comes after the error that counts, any Close in a test, and a line printed
// for a person.
func mayBeDropped(dropped errcheck.UncheckedError) bool {
	closes := strings.HasSuffix(dropped.SelectorName, ".Close")
	deferred := strings.Contains(dropped.Line, "defer "+dropped.SelectorName)
	inTest := strings.HasSuffix(dropped.Pos.Filename, "_test.go")
	return closes && (deferred || inTest) || strings.HasPrefix(dropped.FuncName, "fmt.Fprint")
}

// unusedCode reports what staticcheck knows as U1000. That analyzer reports nothing by itself, because its command
// merges what several builds of a package use; go vet shows us the build that includes the tests, which is enough.
var unusedCode = &analysis.Analyzer{
	Name:     "U1000",
	Doc:      "reports code that neither the package nor its tests use",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run:      runUnusedCode,
}

func runUnusedCode(pass *analysis.Pass) (any, error) {
	for _, object := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
		pass.Reportf(at(pass, object.Position), "%s %s is unused", object.Kind, object.Name)
	}
	return nil, nil
}

// at finds a position again that a library has already translated into words.
func at(pass *analysis.Pass, position token.Position) token.Pos {
	for _, file := range pass.Files {
		tokens := pass.Fset.File(file.FileStart)
		if tokens.Name() == position.Filename && position.Offset <= tokens.Size() {
			return tokens.Pos(position.Offset)
		}
	}
	return token.NoPos
}
