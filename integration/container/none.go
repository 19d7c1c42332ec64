//go:build !docker

package container

// Use does nothing without the build tag.
func Use() {}
