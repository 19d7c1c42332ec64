package rdb

import "strings"

// Absent is a job that is bound to one partition, and that a worker of another one holds.
type Absent struct {
	ID        string
	Partition int // among the stragglers: where it belongs; among the foreign: where it is
	Queue     string
	Digest    string // of its lock
	Key       string
}

// parseAbsent reads "<partition> <name> NUL <digest>", and, where it has a key, NUL and that.
func parseAbsent(field Field) Absent {
	head, bonds, _ := strings.Cut(string(field.Value), "\x00")
	digest, key, _ := strings.Cut(bonds, "\x00")
	partition, name, _ := strings.Cut(head, " ")
	return Absent{ID: field.Name, Partition: int(toNumber(partition)), Queue: name, Digest: digest, Key: key}
}
