// Package partition knows which partitions a namespace has and what lives in which: the [Map], the home of a job, the
// names of partitions in Redis, and the [Directory] of their stores, which keeps the newest map. Those who store, work
// and look into a namespace ask it where to go. It stores no jobs and moves none.
package partition
