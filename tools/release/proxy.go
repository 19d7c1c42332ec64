package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// publish writes a version of every released module of a tree into a folder that the go command takes as a module
// proxy (https://go.dev/ref/mod#goproxy-protocol). The tree itself stays as it is.
func publish(ctx context.Context, tree, proxy, version string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	if err := checkReleased(tree); err != nil {
		return err
	}
	copied, err := os.MkdirTemp("", "work-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied) //lint:ignore errcheck it is in the folder for what is temporary
	if err := copyTree(ctx, tree, copied); err != nil {
		return err
	}
	for _, dir := range released {
		if err := writeReleased(filepath.Join(copied, dir, "go.mod"), version); err != nil {
			return err
		}
	}
	for _, dir := range released {
		if err := publishModule(filepath.Join(copied, dir), proxy, modulePath(dir), version); err != nil {
			return fmt.Errorf("publishing %s: %w", modulePath(dir), err)
		}
	}
	return nil
}

// copyTree copies the files that Git knows or would add, as they are now.
func copyTree(ctx context.Context, from, to string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files in %s: %w", from, failure(err))
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and that is not committed yet
		}
		if err != nil {
			return err
		}
		at := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func publishModule(dir, proxy, path, version string) error {
	escaped, err := module.EscapePath(path)
	if err != nil {
		return err
	}
	at := filepath.Join(proxy, escaped, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	write := func(name string, text []byte) error {
		return os.WriteFile(filepath.Join(at, name), text, 0o644)
	}
	packed, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	err = zip.CreateFromDir(packed, module.Version{Path: path, Version: version}, dir)
	if err := errors.Join(err, packed.Close(), write(version+".mod", mod), write(version+".info", info)); err != nil {
		return err
	}
	return addToList(filepath.Join(at, "list"), version)
}

// addToList is last: a version that is listed is there.
func addToList(file, version string) error {
	list, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(list, version+"\n")
	return errors.Join(err, list.Close())
}

// failure adds what a command has said to how it ended.
func failure(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
