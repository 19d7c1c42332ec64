// Package doctest has the tests of what the pages of docs/ and the README say: their lists against the code, their
// commands and programs by running them. It has nothing else; the tests run in the root of the module, where the pages
// are.
package doctest
