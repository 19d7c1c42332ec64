// Package stopping tests how a pool comes to rest: a drain ends when nothing is left, and a stop in time, whatever
// Redis or a handler does, with all that it held back in order or settled. It has nothing but tests.
package stopping
