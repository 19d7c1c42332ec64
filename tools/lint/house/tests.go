package house

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// TestSleep reports time.Sleep in tests: it is too short on a busy machine and too long on any other. In a bubble of
// synctest no time passes, so there it is well.
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
			if call, ok := node.(*ast.CallExpr); ok && isBubble(pass, call) {
				return false
			}
			if name, ok := node.(*ast.Ident); ok && isFunc(pass.TypesInfo.Uses[name], "time.Sleep") {
				pass.Reportf(name.Pos(), "a test must not sleep: wait for a signal, or for a condition with a deadline")
			}
			return true
		})
	}
	return nil, nil
}

// isBubble tells whether a call runs its func on a clock of its own.
func isBubble(pass *analysis.Pass, call *ast.CallExpr) bool {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	return ok && isFunc(pass.TypesInfo.Uses[fn.Sel], "testing/synctest.Test")
}

func isFunc(object types.Object, name string) bool {
	fn, ok := object.(*types.Func)
	return ok && fn.FullName() == name
}
