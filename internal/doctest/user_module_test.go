package doctest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// TestWhatAProgramGets makes the module of a user and compares it with docs/operations.md: what only tests or the
// embedded Redis need is not compiled, and nothing else comes along.
func TestWhatAProgramGets(t *testing.T) {
	t.Parallel()
	redistest.SkipInShortRace(t, "it builds programs, without the race detector")
	page, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "## What a program gets\n")
	section, _, _ = strings.Cut(section, "\n## ")
	table, rest, _ := strings.Cut(section, "\nIts `go.sum`")
	compiled, others := modulesIn(table), modulesIn(rest)
	require.Len(t, compiled, 3)

	dir := newUserModule(t, `
		package main
		import "github.com/265d0351/work"
		func main() { _ = work.NewWorkerPool(nil, 1, work.WorkerOptions{}) }`)
	assert.Equal(t, compiled, modulesOf(t, dir))
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	summed := map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		summed[strings.Fields(line)[0]] = true
	}
	want := append(slices.Clone(compiled), others...)
	for _, module := range want {
		assert.True(t, summed[module], "go.sum has no %s", module)
		delete(summed, module)
	}
	assert.Empty(t, summed, "go.sum has more than the page says")

	dir = newUserModule(t, `
		package main
		import (
			"github.com/265d0351/work"
			_ "github.com/265d0351/work/embedded"
		)
		func main() { _ = work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://"}) }`)
	more := append(slices.Clone(compiled), "github.com/alicebob/miniredis/v2", "github.com/yuin/gopher-lua")
	slices.Sort(more)
	assert.Equal(t, more, modulesOf(t, dir))
}

// modulesIn are the modules that a text names, sorted.
func modulesIn(text string) (modules []string) {
	for _, found := range regexp.MustCompile("`([a-z.]+\\.[a-z]+/[^`]+)`").FindAllStringSubmatch(text, -1) {
		modules = append(modules, found[1])
	}
	slices.Sort(modules)
	return modules
}

// newUserModule makes a module with this program, on this checkout.
func newUserModule(t *testing.T, program string) (dir string) {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	module := "module user\n\ngo 1.26\n\nrequire github.com/265d0351/work v0.0.0\n\n" +
		"replace github.com/265d0351/work => " + here + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600))
	goIn(t, dir, "mod", "tidy")
	return dir
}

// modulesOf are the modules that a program is compiled of, sorted, without its own and ours.
func modulesOf(t *testing.T, dir string) (modules []string) {
	t.Helper()
	for _, module := range strings.Fields(goIn(t, dir, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		".")) {
		if module != "user" && module != "github.com/265d0351/work" && !slices.Contains(modules, module) {
			modules = append(modules, module)
		}
	}
	slices.Sort(modules)
	return modules
}

// goIn runs go in a module. All that it needs is in the cache, since this test was compiled of it: nobody is asked for
// it, nor whether it is what others got.
func goIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.NoError(t, err, string(exit.Stderr))
	}
	require.NoError(t, err)
	return string(out)
}
