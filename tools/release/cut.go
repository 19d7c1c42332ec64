package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// cutting is what it takes to cut a release.
type cutting struct {
	Repository string // its folder
	Version    string
	Check      []string                                              // the command that must succeed first
	Try        func(ctx context.Context, tree, version string) error // installs the tree as a user would
}

// cut makes a release in a repository: a commit of the changelog on the branch, and beside it the commit that has the
// tags. Nothing changes before all has been checked and built in a worktree beside. Nothing is pushed: it says how.
func cut(ctx context.Context, c cutting) (err error) {
	repo := repository(c.Repository)
	if err := repo.ready(ctx, c.Version); err != nil {
		return err
	}
	fmt.Println("checking:", strings.Join(c.Check, " "))
	check := exec.CommandContext(ctx, c.Check[0], c.Check[1:]...)
	check.Dir, check.Stdout, check.Stderr = c.Repository, os.Stdout, os.Stderr
	if err := check.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(c.Check, " "), err)
	}

	tree, err := os.MkdirTemp("", "work-cut-")
	if err != nil {
		return err
	}
	if _, err := repo.git(ctx, "worktree", "add", "--detach", tree, "HEAD"); err != nil {
		return err
	}
	defer func() {
		_, gone := repo.git(context.WithoutCancel(ctx), "worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	if err := writeChangelog(tree, c.Version); err != nil {
		return err
	}
	beside := repository(tree)
	onBranch, err := beside.commit(ctx, "The changelog of "+c.Version)
	if err != nil {
		return err
	}
	fmt.Println("installing", c.Version, "from a proxy of files")
	if err := c.Try(ctx, tree, c.Version); err != nil {
		return err
	}
	for _, dir := range released {
		if err := writeReleased(filepath.Join(tree, dir, "go.mod"), c.Version); err != nil {
			return err
		}
	}
	tagged, err := beside.commit(ctx, "Release "+c.Version)
	if err != nil {
		return err
	}
	return repo.publish(ctx, c.Version, onBranch, tagged)
}

func writeChangelog(tree, version string) error {
	file := filepath.Join(tree, "CHANGELOG.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	now, err := withHeading(string(text), version, time.Now())
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(now), 0o644)
}

// repository is the folder of a Git repository.
type repository string

func (r repository) git(ctx context.Context, args ...string) (string, error) {
	var said bytes.Buffer
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir, command.Stderr = string(r), &said
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// ready tells what speaks against a release from what is checked out.
func (r repository) ready(ctx context.Context, version string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("these files are not committed:\n%s", changed)
	}
	if _, err := r.git(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil {
		return errors.New("no branch is checked out: a release adds a commit to one")
	}
	tags, err := r.git(ctx, "tag", "--list", "v*")
	if err != nil {
		return err
	}
	for tag := range strings.FieldsSeq(tags) {
		if semver.Compare(tag, version) >= 0 {
			return fmt.Errorf("version %s is not above %s, which is released", version, tag)
		}
	}
	if err := checkReleased(string(r)); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(string(r), "CHANGELOG.md"))
	if err != nil {
		return err
	}
	_, err = withHeading(string(text), version, time.Now())
	return err
}

// commit commits all changes and returns the commit.
func (r repository) commit(ctx context.Context, message string) (string, error) {
	if _, err := r.git(ctx, "commit", "--quiet", "--all", "--message", message); err != nil {
		return "", err
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

// publish sets the tags and then moves the branch. Where one fails, those that were set are taken back.
func (r repository) publish(ctx context.Context, version, onBranch, tagged string) error {
	var tags []string
	for _, dir := range released {
		tag := tagOf(dir, version)
		if _, err := r.git(ctx, "tag", "--annotate", "--message", "Release "+version, tag, tagged); err != nil {
			return errors.Join(err, r.untag(ctx, tags))
		}
		tags = append(tags, tag)
	}
	if _, err := r.git(ctx, "merge", "--quiet", "--ff-only", onBranch); err != nil {
		return errors.Join(err, r.untag(ctx, tags))
	}
	branch, err := r.git(ctx, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		return err
	}
	fmt.Printf("%s is tagged. Publish it with\n\n\tgit push --atomic origin %s %s\n", version, branch,
		strings.Join(tags, " "))
	return nil
}

func (r repository) untag(ctx context.Context, tags []string) error {
	if len(tags) == 0 {
		return nil
	}
	_, err := r.git(context.WithoutCancel(ctx), append([]string{"tag", "--delete"}, tags...)...)
	return err
}
