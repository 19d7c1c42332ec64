// Package history counts what becomes of jobs and brings the sums to Redis: for each name how many attempts were done,
// failed and died, how long handlers took and jobs waited, and which errors came how often.
//
// A worker hands every attempt to its [Counter] once Redis has acknowledged the outcome. Its heartbeat takes the sums
// along as calls of a [Reporter], and the stop sends what is left. Whoever reads history uses [Parse] for what is
// stored, and [InGroup] for which jobs belong to a group of errors. The package decides nothing about jobs, and what it
// holds in memory is bounded by the names that its worker serves.
package history
