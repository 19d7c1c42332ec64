package house

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// NoPanic reports panics in the framework: a mistake of its user is an error that Start returns. The few that stay say
// why in a directive.
var NoPanic = &analysis.Analyzer{
	Name: "nopanic",
	Doc:  "reports panics in the root package, outside tests",
	Run:  runNoPanic,
}

func runNoPanic(pass *analysis.Pass) (any, error) {
	if packagePath(pass) != Root {
		return nil, nil
	}
	for _, file := range productFiles(pass) {
		ast.Inspect(file, func(node ast.Node) bool {
			name, ok := node.(*ast.Ident)
			if ok && pass.TypesInfo.Uses[name] == types.Universe.Lookup("panic") {
				pass.Reportf(name.Pos(), "the framework must not panic: return an error, or say why not with "+
					"//lint:ignore nopanic reason")
			}
			return true
		})
	}
	return nil, nil
}
