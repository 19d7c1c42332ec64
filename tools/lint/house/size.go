package house

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
)

const (
	maxFileLines = 450
	maxFuncLines = 60
	maxParams    = 4
)

// FileSize reports files that hold more than one sitting's reading.
var FileSize = &analysis.Analyzer{
	Name: "filesize",
	Doc:  "reports files of more than 450 lines",
	Run:  runFileSize,
}

func runFileSize(pass *analysis.Pass) (any, error) {
	for _, file := range files(pass) {
		if lines := pass.Fset.File(file.FileStart).LineCount(); lines > maxFileLines {
			pass.Reportf(file.Name.Pos(), "the file has %d lines, more than %d: split it by noun", lines, maxFileLines)
		}
	}
	return nil, nil
}

// FuncSize reports functions that do not fit on a screen. Tests may be longer: a table is long and flat.
var FuncSize = &analysis.Analyzer{
	Name: "funcsize",
	Doc:  "reports functions of more than 60 lines outside tests",
	Run:  runFuncSize,
}

func runFuncSize(pass *analysis.Pass) (any, error) {
	for _, file := range productFiles(pass) {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := pass.Fset.Position(fn.Pos()).Line, pass.Fset.Position(fn.End()).Line
			if lines := last - first + 1; lines > maxFuncLines {
				pass.Reportf(fn.Name.Pos(), "%s has %d lines, more than %d: give its parts names", fn.Name.Name, lines,
					maxFuncLines)
			}
		}
	}
	return nil, nil
}

// Params reports functions and interface methods that a caller cannot read without counting commas.
var Params = &analysis.Analyzer{
	Name: "params",
	Doc:  "reports more than 4 parameters besides the context, outside tests",
	Run:  runParams,
}

func runParams(pass *analysis.Pass) (any, error) {
	for _, file := range productFiles(pass) {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				checkParams(pass, node.Name, node.Type)
			case *ast.InterfaceType:
				for _, method := range node.Methods.List {
					if signature, ok := method.Type.(*ast.FuncType); ok {
						checkParams(pass, method.Names[0], signature)
					}
				}
			}
			return true
		})
	}
	return nil, nil
}

func checkParams(pass *analysis.Pass, name *ast.Ident, signature *ast.FuncType) {
	count := 0
	for _, field := range signature.Params.List {
		if isContext(pass.TypesInfo.TypeOf(field.Type)) {
			continue
		}
		count += max(1, len(field.Names))
	}
	if count > maxParams {
		pass.Reportf(name.Pos(), "%s has %d parameters besides the context, more than %d: make them a struct",
			name.Name, count, maxParams)
	}
}
