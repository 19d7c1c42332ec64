//go:build !unix

package filetree

import "os"

// OpenRegular opens a file that the walk saw as a regular one.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return regularOnly(f)
}
