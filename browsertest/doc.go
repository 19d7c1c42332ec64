// Package browsertest holds the tests that look at the dashboard through a browser, as people do. It is a module of its
// own, so that a driver of browsers does not reach a user's go.sum.
package browsertest
