//go:build unix

package filetree

import (
	"os"
	"syscall"
)

// OpenRegular opens a file that the walk saw as a regular one. Meanwhile it may have become a link, which is not
// followed, or a pipe, for whose writer an open would wait.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return regularOnly(f)
}
