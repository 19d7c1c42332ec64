// Package needs tests jobs that need labels of a worker: they run only where these are, and stand in nobody's way. It
// has nothing but tests.
package needs
