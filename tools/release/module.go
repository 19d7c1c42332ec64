package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// root is the path of the library's own module, which those of its parts begin with.
const root = "github.com/265d0351/work"

// released are the folders of the modules that a user may install. The others test, measure and build these, and are
// never published.
var released = []string{".", "cmd/work", "compress", "goredis", "metrics", "otelwork", "outbox"}

// modulePath is the path of the module in a folder.
func modulePath(dir string) string { return path.Join(root, dir) }

// tagOf is the tag by which the go command finds a version of the module in a folder.
func tagOf(dir, version string) string { return path.Join(dir, version) }

// checkVersion refuses what the go command would not take as the version of a release.
func checkVersion(version string) error {
	switch {
	case !semver.IsValid(version) || semver.Canonical(version) != version:
		return fmt.Errorf("version %q is not one of a release: give three numbers, like v0.2.1", version)
	case semver.Major(version) != "v0" && semver.Major(version) != "v1":
		return fmt.Errorf("version %q needs another module path: from v2 on it would have to end in /%s", version,
			semver.Major(version))
	}
	return nil
}

// writeReleased writes a go.mod over with its released form.
func writeReleased(file, version string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	as, err := releasedForm(file, text, version)
	if err != nil {
		return err
	}
	return os.WriteFile(file, as, 0o644)
}

// releasedForm is a go.mod that names its siblings at the version of the release, and replaces nothing.
func releasedForm(file string, text []byte, version string) ([]byte, error) {
	mod, err := modfile.Parse(file, text, nil)
	if err != nil {
		return nil, err
	}
	if mod.Module == nil || !ours(mod.Module.Mod.Path) {
		return nil, fmt.Errorf("%s is not of a module of %s", file, root)
	}
	for _, replace := range mod.Replace {
		if !ours(replace.Old.Path) {
			return nil, fmt.Errorf("%s replaces %s, which whoever installs it does not: require a published version",
				file, replace.Old.Path)
		}
	}
	for len(mod.Replace) > 0 {
		old := mod.Replace[0].Old
		if err := mod.DropReplace(old.Path, old.Version); err != nil {
			return nil, err
		}
		mod.Cleanup()
	}
	for _, require := range mod.Require {
		if ours(require.Mod.Path) {
			if err := mod.AddRequire(require.Mod.Path, version); err != nil {
				return nil, err
			}
		}
	}
	mod.Cleanup()
	return mod.Format()
}

func ours(module string) bool { return module == root || strings.HasPrefix(module, root+"/") }

// checkReleased refuses a tree in which a released module needs one of its siblings that is not published.
func checkReleased(tree string) error {
	known := map[string]bool{}
	for _, dir := range released {
		known[modulePath(dir)] = true
	}
	var errs []error
	for _, dir := range released {
		file := filepath.Join(tree, dir, "go.mod")
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		mod, err := modfile.Parse(file, text, nil)
		if err != nil {
			return err
		}
		for _, require := range mod.Require {
			if ours(require.Mod.Path) && !known[require.Mod.Path] {
				errs = append(errs, fmt.Errorf("%s needs %s, which is not released", file, require.Mod.Path))
			}
		}
	}
	return errors.Join(errs...)
}
