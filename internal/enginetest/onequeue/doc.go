// Package onequeue tests jobs of several names that share a queue: they run in one order and under one limit, on
// workers with handlers for all of them, for some or for none. It has nothing but tests.
package onequeue
