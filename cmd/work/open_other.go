//go:build !unix

package main

import "os"

// openRegular opens a file that the walk saw as a regular one.
func openRegular(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return regularOnly(f)
}
