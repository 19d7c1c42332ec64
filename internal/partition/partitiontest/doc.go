// Package partitiontest has what tests need of a namespace in several partitions: maps ([Divided], [WriteMap]), and a
// driver of which single partitions fail ([Outages]). All partitions may be on one server: they are names of keys.
package partitiontest
