package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workspace is the root of the repository: the directory of go.work, above that of tools/all.work.
func workspace() (string, error) {
	out, err := exec.Command("go", "env", "GOWORK").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOWORK: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == "off" {
		return "", errors.New("there is no go.work: run this inside the repository, and without GOWORK=off")
	}
	return strings.TrimSuffix(filepath.Dir(file), string(filepath.Separator)+"tools"), nil
}

// copyTree copies what git knows and what it would take, into a new directory with the root module as its only one.
func copyTree(root string) (string, error) {
	to, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return "", err
	}
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return to, fmt.Errorf("git ls-files in %s: %w", root, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(to, name)); err != nil {
			return to, err
		}
	}
	return to, os.WriteFile(filepath.Join(to, "go.work"), []byte("go 1.26.0\n\nuse .\n"), 0o600)
}

// copyFile copies one file. One that git knows and that is gone is no error.
func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm()|0o600)
}
