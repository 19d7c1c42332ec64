package objects

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// writeWhole makes a file with that content appear at once, or not at all. Of several writers of one file the last
// stays, which is the same as the others.
func writeWhole(file string, content []byte) error {
	dir := filepath.Dir(file)
	if err := makeSynced(dir); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(dir, partial+"*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Sync() // before the rename: else a crash may leave the name with nothing behind it
	}
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return errors.Join(err, removeQuietly(temporary.Name()))
	}
	return syncDirectory(dir)
}

// makeSynced makes a directory that is still there after a crash.
func makeSynced(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(dir))
}

func removeQuietly(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDirectory makes the names in a directory safe. Windows has no such thing.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
