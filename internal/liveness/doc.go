// Package liveness knows when a worker must show that it lives, and what is known here of whether it does: the times of
// its heartbeats, the signs that its loops leave, and the fence that ends what it runs once others may have been given
// it. The heartbeater drives it, and the health of a pool is judged by it.
//
// It sends nothing and asks nobody: what it knows comes from who calls it, and it goes by the monotonic clock of this
// process.
package liveness
