package doctest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/format"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// guides are the pages whose programs are run. Behind each program stands what it prints, perhaps after the commands
// with which it is called.
var guides = []string{"tutorial", "recipes"}

// guideProgram is a program of a page.
type guideProgram struct {
	name   string // "tutorial-03": its place on the page
	source string
	calls  string // commands that talk to it; it is a server then
	prints string
}

func guidePrograms(page string) (programs []guideProgram, err error) {
	text, err := os.ReadFile(filepath.Join("docs", page+".md"))
	if err != nil {
		return nil, err
	}
	calls := ""
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		switch content := found[2]; found[1] {
		case "go":
			if strings.HasPrefix(content, "package ") {
				programs = append(programs, guideProgram{name: fmt.Sprintf("%s-%02d", page, len(programs)+1),
					source: content})
			}
			calls = ""
		case "sh":
			calls = content
		case "text":
			last := &programs[len(programs)-1]
			last.calls, last.prints = calls, last.prints+content
		}
	}
	return programs, nil
}

// guideModule is a module with all programs of these pages, built once. It knows this tree as a user's module would.
var guideModule = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "guides"); err != nil {
		return "", err
	}
	if err := writeGuideModule(dir); err != nil {
		return dir, err
	}
	cmd := exec.Command("go", "build", "-C", dir, "-mod=mod", "-ldflags=-s -w", "-o", dir+"/bin/", "./...")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

func writeGuideModule(dir string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	module := strings.Replace(string(mod), "module github.com/265d0351/work", "module guides", 1) +
		"\nrequire github.com/265d0351/work v0.0.0\nreplace github.com/265d0351/work => " + root + "\n"
	files := map[string]string{"go.mod": module, "go.sum": string(sum)}
	for _, page := range guides {
		programs, err := guidePrograms(page)
		if err != nil {
			return err
		}
		for _, p := range programs {
			file := "main.go"
			if strings.Contains(p.source, "_test\n") {
				file = "a_test.go"
			}
			files[filepath.Join(p.name, file)] = p.source
		}
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// TestTheProgramsOfTheGuides runs each, and compares what it prints with the page.
func TestTheProgramsOfTheGuides(t *testing.T) {
	t.Parallel()
	redistest.SkipInShortRace(t, "it builds programs, without the race detector")
	dir, err := guideModule()
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, err)
	for _, page := range guides {
		programs, err := guidePrograms(page)
		require.NoError(t, err)
		require.NotEmpty(t, programs)
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				require.NotEmpty(t, p.prints, "what it prints stands behind it")
				formatted, err := format.Source([]byte(p.source))
				require.NoError(t, err)
				assert.Equal(t, string(formatted), p.source, "as gofmt writes it")
				switch {
				case strings.HasPrefix(p.source, "package main"):
					p.run(t, filepath.Join(dir, "bin", p.name))
				default:
					cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-vet=off", "./"+p.name)
					cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
					out, err := cmd.CombinedOutput()
					require.NoError(t, err, string(out))
					assert.True(t, strings.HasPrefix(string(out), strings.TrimSpace(p.prints)), string(out))
				}
			})
		}
	}
}

// run is a program that ends by itself, or a server that is called as its page says.
func (p guideProgram) run(t *testing.T, binary string) {
	if p.calls == "" {
		cmd := exec.CommandContext(t.Context(), binary)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		require.NoError(t, err, "%s%s", out, said.String())
		assert.Equal(t, p.prints, string(out), said.String())
		return
	}
	if strings.Contains(p.calls, "worker") {
		redistest.Each(t, func(t *testing.T, s redistest.Server) { p.runRoles(t, binary, s.DSN()) })
		return
	}
	addr := freeAddr(t)
	source := strings.Replace(p.source, "localhost:8080", addr, 1)
	require.NotEqual(t, p.source, source)
	dir := filepath.Join(filepath.Dir(filepath.Dir(binary)), p.name)
	write(t, filepath.Join(dir, "main.go"), source)
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", binary, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	server := exec.CommandContext(t.Context(), binary)
	lines := startedLines(t, server)
	for _, path := range regexp.MustCompile(`localhost:8080(\S+)`).FindAllStringSubmatch(p.calls, -1) {
		post(t, "http://"+addr+path[1])
	}
	assert.Equal(t, p.prints, lines())
	require.NoError(t, server.Process.Signal(os.Interrupt))
	require.NoError(t, server.Wait(), "an interrupt ends it in good order")
}

// startedLines starts a program, and returns a function that waits for the next line of its output.
func startedLines(t *testing.T, cmd *exec.Cmd) func() string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	reader := bufio.NewReader(stdout)
	return func() string {
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		return line
	}
}

// runRoles is the worker and the web server of the last step, as two processes.
func (p guideProgram) runRoles(t *testing.T, binary, dsn string) {
	const token = "a-secret-of-16-bytes"
	require.Contains(t, p.calls, token)
	health, site := freeAddr(t), freeAddr(t)
	start := func(role, addr string) (*exec.Cmd, func() string) {
		cmd := exec.CommandContext(t.Context(), binary, role)
		cmd.Env = append(slices.Clone(os.Environ()), "REDIS="+dsn, "ADDR="+addr, "TOKEN="+token)
		return cmd, startedLines(t, cmd)
	}
	worker, lines := start("worker", health)
	ready := func() bool { return status("http://"+health+"/ready", "") == http.StatusOK }
	require.Eventually(t, ready, 20*time.Second, 20*time.Millisecond) // so that the name is served
	web, _ := start("web", site)
	post(t, "http://"+site+"/people/Ada")
	assert.Equal(t, p.prints, lines())
	assert.Equal(t, http.StatusOK, status("http://"+site+"/jobs/", token))
	assert.Equal(t, http.StatusUnauthorized, status("http://"+site+"/jobs/", "another-secret-of-it"))
	require.NoError(t, worker.Process.Signal(os.Interrupt))
	require.NoError(t, worker.Wait(), "an interrupt ends it in good order")
	require.NoError(t, web.Process.Kill())
	_ = web.Wait() // it was killed
}

// status is what a GET is answered with; 0 where it is not.
func status(url, token string) int {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	http.DefaultClient.CloseIdleConnections()
	return response.StatusCode
}
