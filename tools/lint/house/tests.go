package house

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// TestSleep reports time.Sleep in tests: it is too short on a busy machine and too long on any other.
var TestSleep = &analysis.Analyzer{
	Name: "testsleep",
	Doc:  "reports uses of time.Sleep in tests",
	Run:  runTestSleep,
}

func runTestSleep(pass *analysis.Pass) (any, error) {
	for _, file := range files(pass) {
		if !isTest(pass, file) {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if name, ok := node.(*ast.Ident); ok && isSleep(pass.TypesInfo.Uses[name]) {
				pass.Reportf(name.Pos(), "a test must not sleep: wait for a signal, or for a condition with a deadline")
			}
			return true
		})
	}
	return nil, nil
}

func isSleep(object types.Object) bool {
	fn, ok := object.(*types.Func)
	return ok && fn.FullName() == "time.Sleep"
}
