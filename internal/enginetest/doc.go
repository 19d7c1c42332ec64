// Package enginetest is where the tests of the engine are that need a pool and Redis, and nothing of what package work
// does not export: a package by subject. What they have in common is in pooltest.
package enginetest
