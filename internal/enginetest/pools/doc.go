// Package pools tests the life of a pool: how it is set up, starts, scales, waits for work, settles and stops, and
// what it needs of Redis. It has nothing but tests.
package pools
