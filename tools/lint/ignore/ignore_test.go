package ignore_test

import (
	"go/ast"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/265d0351/work/tools/lint/ignore"
)

// toy reports every function whose name begins with bad.
func toy() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "toy",
		Doc:  "reports functions called bad",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				for _, decl := range file.Decls {
					if fn, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "bad") {
						pass.Reportf(fn.Name.Pos(), "%s is bad", fn.Name.Name)
					}
				}
			}
			return nil, nil
		},
	}
}

func TestHonour(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"silenced", "wholefile"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			analyzer := toy()
			ignore.Honour([]*analysis.Analyzer{analyzer})
			analysistest.Run(t, analysistest.TestData(), analyzer, path)
		})
	}
}

func TestChecker(t *testing.T) {
	t.Parallel()
	analysistest.Run(t, analysistest.TestData(), ignore.Checker([]string{"toy"}), "malformed")
}
