package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadEvents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines  []string
		failed []string
		err    string
	}{
		"all pass": {[]string{
			`{"Action":"run","Package":"p","Test":"TestA"}`, `{"Action":"pass","Package":"p","Test":"TestA"}`,
			`{"Action":"pass","Package":"p"}`,
		}, nil, ""},
		"the function that failed, not its subtests": {[]string{
			`{"Action":"run","Package":"p","Test":"TestA"}`, `{"Action":"fail","Package":"p","Test":"TestA/sub"}`,
			`{"Action":"fail","Package":"p","Test":"TestA"}`, `{"Action":"fail","Package":"p"}`,
		}, []string{"TestA"}, ""},
		"only the program": {[]string{
			`{"Action":"run","Package":"p","Test":"TestA"}`, `{"Action":"pass","Package":"p","Test":"TestA"}`,
			`{"Action":"fail","Package":"p"}`,
		}, []string{"TestMain"}, ""},
		"the time was up": {[]string{
			`{"Action":"run","Package":"p","Test":"TestA"}`,
			`{"Action":"output","Package":"p","Output":"panic: test timed out after 2m\n\trunning tests:\n"}`,
			`{"Action":"output","Package":"p","Output":"\t\tTestA/b (10s)\n\t\tTestA/c (9s)\n\t\tTestB (9s)\n\ngoroutine 1:\n"}`,
			`{"Action":"fail","Package":"p"}`,
		}, []string{"TestA", "TestB"}, ""},
		"it does not build": {[]string{
			`{"ImportPath":"p","Action":"build-output","Output":"x.go:1:1: undefined: y\n"}`,
			`{"Action":"fail","Package":"p","FailedBuild":"p"}`,
		}, nil, "p does not build:\nx.go:1:1: undefined: y"},
		"nothing ran":    {[]string{`{"Action":"pass","Package":"p"}`}, nil, "no test ran"},
		"not an event":   {[]string{`FAIL`}, nil, "not what go test -json writes"},
		"nothing at all": {nil, nil, "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readEvents(strings.NewReader(strings.Join(tt.lines, "\n")))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.failed, got.failed)
		})
	}
}

// TestRunTellsSeenFromSurvivedFromBroken runs go test for real, on a module of one file.
func TestRunTellsSeenFromSurvivedFromBroken(t *testing.T) {
	t.Parallel()
	const code = "package p\n\nfunc two() int { return 2 }\n"
	tree := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module p\n\ngo 1.26.0\n", "go.work": "go 1.26.0\n\nuse .\n", "p.go": code,
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif two() != 2 " +
			"{\n\t\tt.Fatal()\n\t}\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600))
	}
	own := []tests{{".", []string{"TestTwo"}}}
	for _, tt := range []struct {
		after  string
		caught []string
		err    string
	}{
		{"return 3", []string{"TestTwo"}, ""},
		{"return 1 + 1", nil, ""},
		{"return two", nil, "mutant m: go test .: p [p.test] does not build"},
	} {
		r, err := mutant{Name: "m", File: "p.go", Before: "return 2", After: tt.after, Tests: own}.face(t.Context(),
			tree, nil)
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err)
		} else {
			require.NoError(t, err)
			assert.Equal(t, tt.caught, r.caught, tt.after)
		}
		text, err := os.ReadFile(filepath.Join(tree, "p.go"))
		require.NoError(t, err)
		assert.Equal(t, code, string(text), "it is taken out again")
	}
}
