package doctest_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

var block = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")

// readmeBlocks returns the code blocks of the README in one language.
func readmeBlocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var blocks []string
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		if found[1] == language {
			blocks = append(blocks, strings.TrimSpace(found[2]))
		}
	}
	return blocks
}

// howRun says how each command of the README is run by a test.
var howRun = map[string]string{
	"git clone https://github.com/265d0351/work && cd work\ngo run ./cmd/work demo": "TestReadmeDemo",
	"go test work": "the test run that this test is a part of",
	"go mod init shop\ngo mod tidy\ngo run .": "not before it is published; TestReadmeProgram builds against this " +
		"tree instead",
	"curl -X POST localhost:8080/watch/42": "TestReadmeProgram",
}

func TestReadmeCommandsAreAllRun(t *testing.T) {
	t.Parallel()
	blocks := readmeBlocks(t, "sh")
	assert.Len(t, blocks, len(howRun))
	for _, command := range blocks {
		assert.Contains(t, howRun, command)
	}
}

func TestReadmeDemo(t *testing.T) {
	t.Parallel()
	redistest.SkipInShortRace(t, "it builds programs, without the race detector")
	for _, args := range []string{"demo", "demo --workers 3 --kill"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, "go",
				append([]string{"run", "./cmd/work"}, strings.Fields(args)...)...).CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Contains(t, string(out), "Every result agrees with a plain walk")
		})
	}
}

// TestReadmeProgram pastes the README's program into an empty directory, runs it, and posts to it as the README says.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	redistest.SkipInShortRace(t, "it builds programs, without the race detector")
	programs := readmeBlocks(t, "go")
	require.Len(t, programs, 1)
	addr := freeAddr(t)
	program := strings.Replace(programs[0], "localhost:8080", addr, 1)
	require.NotEqual(t, programs[0], program)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.go"), program)
	root, err := os.Getwd()
	require.NoError(t, err)
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	write(t, filepath.Join(dir, "go.mod"), strings.Replace(string(mod), "module github.com/265d0351/work",
		"module shop", 1)+
		"\nrequire github.com/265d0351/work v0.0.0\nreplace github.com/265d0351/work => "+root+"\n")

	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "shop", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	shop := exec.CommandContext(t.Context(), filepath.Join(dir, "shop"))
	stdout, err := shop.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shop.Start())
	post(t, "http://"+addr+"/watch/42")
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "user 7 watches 42\n", line)
	require.NoError(t, shop.Process.Signal(os.Interrupt))
	require.NoError(t, shop.Wait(), "an interrupt ends it in good order")
}

// post tries until the program listens.
func post(t *testing.T, url string) {
	t.Helper()
	require.Eventually(t, func() bool {
		resp, err := http.Post(url, "", nil)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond)
	http.DefaultClient.CloseIdleConnections()
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
