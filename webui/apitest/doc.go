// Package apitest compares the API of the dashboard with its description. It has tests only, and is a module of its own
// so that what they need does not reach the library.
package apitest
