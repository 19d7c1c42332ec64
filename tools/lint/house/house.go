// Package house holds the analyzers for this project's own rules, which CONTRIBUTING.md states in words.
package house

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Root is the import path of the module whose root package is the framework.
const Root = "github.com/265d0351/work"

// Analyzers are all of them.
var Analyzers = []*analysis.Analyzer{
	FileSize,
	FuncSize,
	Params,
	TestSleep,
	Layers,
	NoPanic,
	ExportedDoc,
	Names,
	LineLength,
}

// packagePath is the path of the package as its importers write it. A package that is compiled together with its tests
// may carry the name of the test binary behind a space.
func packagePath(pass *analysis.Pass) string {
	path, _, _ := strings.Cut(pass.Pkg.Path(), " ")
	return path
}

// files are those that people wrote.
func files(pass *analysis.Pass) []*ast.File {
	var written []*ast.File
	for _, file := range pass.Files {
		if !ast.IsGenerated(file) && strings.HasSuffix(fileName(pass, file), ".go") {
			written = append(written, file)
		}
	}
	return written
}

// productFiles are the files outside tests.
func productFiles(pass *analysis.Pass) []*ast.File {
	var product []*ast.File
	for _, file := range files(pass) {
		if !isTest(pass, file) {
			product = append(product, file)
		}
	}
	return product
}

func isTest(pass *analysis.Pass, file *ast.File) bool {
	return strings.HasSuffix(fileName(pass, file), "_test.go")
}

func fileName(pass *analysis.Pass, file *ast.File) string {
	return filepath.Base(pass.Fset.File(file.FileStart).Name())
}

// isContext tells whether the type is context.Context.
func isContext(t types.Type) bool {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	return named.Obj().Pkg().Path() == "context" && named.Obj().Name() == "Context"
}
