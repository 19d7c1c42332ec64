package inspect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/jobs.md names every state and every reason to wait.
func TestStatesAndReasonsAreExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/jobs.md")
	require.NoError(t, err)
	for file, kind := range map[string]string{"../job.go": "State", "wait_reason.go": "WaitKind"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			values := constantsOf(t, file, kind)
			require.NotEmpty(t, values)
			for _, value := range values {
				assert.Contains(t, string(page), "`"+value+"`")
			}
		})
	}
}

// constantsOf returns the values of the constants of a type that a file declares.
func constantsOf(t *testing.T, file, kind string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == kind {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			values = append(values, value)
		}
		return false
	})
	return values
}
