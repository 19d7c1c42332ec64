// Package loss tests that no job is lost or runs twice at once when workers die, connections break, and Redis forgets
// or goes back to a backup. It has nothing but tests.
package loss
