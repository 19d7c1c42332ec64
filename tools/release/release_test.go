package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The whole of it, as a user meets it.
func TestWhatIsPublishedInstalls(t *testing.T) {
	t.Parallel()
	require.NoError(t, try(t.Context(), filepath.Join("..", ".."), "v0.1.0"))
}

func TestAReleasedModuleNamesItsSiblingsAndReplacesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "go.mod")
	require.NoError(t, os.WriteFile(file, []byte(`module github.com/265d0351/work/metrics

go 1.25.0

require (
	github.com/265d0351/work v0.0.0
	github.com/265d0351/worker v0.0.1
	example.com/other v1.2.3 // indirect
)

replace github.com/265d0351/work => ../

replace github.com/265d0351/work/cmd/work v0.0.0 => ../cmd/work
`), 0o600))
	require.NoError(t, writeReleased(file, "v0.1.0"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, `module github.com/265d0351/work/metrics

go 1.25.0

require (
	github.com/265d0351/work v0.1.0
	github.com/265d0351/worker v0.0.1
	example.com/other v1.2.3 // indirect
)
`, string(text))
	require.NoError(t, writeReleased(file, "v0.1.0"), "a second time changes nothing")
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again))
}

func TestWhatCannotBeReleasedIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"module\n":               "go.mod:1",
		"module example.com/a\n": "is not of a module of " + root,
		"module " + root + "\n\nreplace example.com/b => ../b\n": "go.mod replaces example.com/b",
	} {
		file := filepath.Join(t.TempDir(), "go.mod")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		assert.ErrorContains(t, writeReleased(file, "v0.1.0"), want)
		left, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, text, string(left), "the file is as it was")
	}
	for version, want := range map[string]string{
		"0.1.0": "three numbers", "v0.1": "three numbers", "v1.0.0+a": "three numbers", "": "three numbers",
		"v2.0.0": "would have to end in /v2",
	} {
		assert.ErrorContains(t, checkVersion(version), want, version)
	}
	for _, version := range []string{"v0.1.0", "v1.20.3", "v0.1.0-rc.1"} {
		assert.NoError(t, checkVersion(version))
	}
}

func TestTheChangelogBeginsAnew(t *testing.T) {
	t.Parallel()
	day := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	const before = "# Changes\n\n## [Unreleased]\n\n- it flies\n\n## [0.1.0] - 2026-12-01\n"
	got, err := withHeading(before, "v0.2.0", day)
	require.NoError(t, err)
	assert.Equal(t,
		"# Changes\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-02\n\n- it flies\n\n## [0.1.0] - 2026-12-01\n", got)
	_, err = withHeading(got, "v0.3.0", day)
	assert.ErrorContains(t, err, "says nothing under Unreleased")
	_, err = withHeading("# Changes\n", "v0.3.0", day)
	assert.ErrorContains(t, err, "has no line")
}

// small is a repository with modules of the names of ours, and nothing in them.
func small(t *testing.T) repository {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, module := range released {
		text := "module " + modulePath(module) + "\n\ngo 1.25.0\n"
		if module != "." {
			text += "\nrequire " + root + " v0.0.0\n\nreplace " + root + " => ../\n"
		}
		write(filepath.Join(module, "go.mod"), text)
	}
	write("CHANGELOG.md", "# Changes\n\n## [Unreleased]\n\n- it flies\n")
	r := repository(dir)
	r.must(t, "init", "--quiet", "--initial-branch", "main")
	r.must(t, "config", "user.name", "A")
	r.must(t, "config", "user.email", "a@example.com")
	r.must(t, "add", ".")
	r.must(t, "commit", "--quiet", "--message", "All of it")
	return r
}

func (r repository) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.git(t.Context(), args...)
	require.NoError(t, err)
	return out
}

func works(context.Context, string, string) error { return nil }

func fails(context.Context, string, string) error { return errors.New("not installed") }

func TestCutTagsACommitBesideTheBranch(t *testing.T) {
	t.Parallel()
	r := small(t)
	tried := false
	require.NoError(t, cut(t.Context(), cutting{Repository: string(r), Version: "v0.1.0", Check: []string{"true"},
		Try: func(_ context.Context, tree, version string) error {
			text, err := os.ReadFile(filepath.Join(tree, "CHANGELOG.md"))
			tried = strings.Contains(string(text), "## [0.1.0]")
			return err
		}}))
	assert.True(t, tried)
	assert.Equal(t, []string{"cmd/work/v0.1.0", "compress/v0.1.0", "goredis/v0.1.0", "metrics/v0.1.0",
		"otelwork/v0.1.0",
		"outbox/v0.1.0", "v0.1.0"},
		strings.Fields(r.must(t, "tag", "--list")))
	assert.Equal(t, r.must(t, "rev-parse", "main"), r.must(t, "rev-parse", "v0.1.0^{commit}^"), "beside the branch")
	assert.Contains(t, r.must(t, "show", "main:CHANGELOG.md"), "## [0.1.0]")
	assert.Contains(t, r.must(t, "show", "main:metrics/go.mod"), "replace")
	for _, module := range released {
		tag := tagOf(module, "v0.1.0")
		text := r.must(t, "show", tag+":"+strings.TrimPrefix(module+"/go.mod", "./"))
		assert.NotContains(t, text, "replace", tag)
		assert.NotContains(t, text, "v0.0.0", tag)
	}
	assert.Empty(t, r.must(t, "status", "--porcelain"))
	assert.Len(t, strings.Split(r.must(t, "worktree", "list"), "\n"), 1, "the worktree is gone")
}

// A release that cannot be made leaves no tag, no commit and no worktree.
func TestACutThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil   func(t *testing.T, r repository)
		version string
		check   string
		try     func(context.Context, string, string) error
		want    string
	}{
		"a version that is none":   {version: "1.0", want: "three numbers"},
		"the checks fail":          {check: "false", want: "false: exit status 1"},
		"it does not install":      {try: fails, want: "not installed"},
		"a file is not committed":  {spoil: changed, want: "not committed"},
		"a newer one is released":  {spoil: tags("v0.2.0"), want: "is not above v0.2.0"},
		"the same one is released": {spoil: tags("v0.1.0"), want: "is not above v0.1.0"},
		"a tag of it is there":     {spoil: tags("otelwork/v0.1.0"), want: "otelwork/v0.1.0"},
		"no branch":                {spoil: detached, want: "no branch is checked out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := small(t)
			if c.spoil != nil {
				c.spoil(t, r)
			}
			state := func() string {
				return r.must(t, "rev-parse", "HEAD") + r.must(t, "tag", "--list") +
					r.must(t, "status", "--porcelain") + r.must(t, "worktree", "list")
			}
			before := state()
			if c.version == "" {
				c.version = "v0.1.0"
			}
			if c.check == "" {
				c.check = "true"
			}
			if c.try == nil {
				c.try = works
			}
			err := cut(t.Context(), cutting{Repository: string(r), Version: c.version, Check: []string{c.check},
				Try: c.try})
			assert.ErrorContains(t, err, c.want)
			assert.Equal(t, before, state())
		})
	}
}

func changed(t *testing.T, r repository) {
	require.NoError(t, os.WriteFile(filepath.Join(string(r), "CHANGELOG.md"), []byte("x"), 0o600))
}

func tags(tag string) func(*testing.T, repository) {
	return func(t *testing.T, r repository) { r.must(t, "tag", tag) }
}

func detached(t *testing.T, r repository) { r.must(t, "checkout", "--quiet", "--detach") }
