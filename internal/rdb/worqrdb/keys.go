package worqrdb

import (
	"crypto/sha1" // the locks of unique tasks are named by it, in Lua too; it protects nothing
	"encoding/hex"
)

// Digest is by what the locks and marks of a task are found.
func Digest(task []byte) string {
	sum := sha1.Sum(task) // see above
	return hex.EncodeToString(sum[:])
}

func (s *Store) queue(q string) string           { return s.prefix + ":queues:" + q }
func (s *Store) process(id string) string        { return s.prefix + ":processes:" + id }
func (s *Store) workers() string                 { return s.prefix + ":workers" }
func (s *Store) permanentWorkers() string        { return s.prefix + ":permanentWorkers" }
func (s *Store) leasedWorkers() string           { return s.prefix + ":leasedWorkers" }
func (s *Store) registrations() string           { return s.prefix + ":registrations" }
func (s *Store) knownQueues() string             { return s.prefix + ":knownQueues" }
func (s *Store) sequence() string                { return s.prefix + ":sequence" }
func (s *Store) timer(w string) string           { return s.prefix + ":workerTimers:" + w }
func (s *Store) workingQueues(w string) string   { return s.prefix + ":workingQueues:" + w }
func (s *Store) servedQueues(w string) string    { return s.prefix + ":servedQueues:" + w }
func (s *Store) voidedProcesses(w string) string { return s.prefix + ":voidedProcesses:" + w }
func (s *Store) lane(id string) string           { return s.prefix + ":lanes:" + id }
func (s *Store) uniqueWaiting(q string) string   { return s.prefix + ":uniqueWaiting:" + q }
func (s *Store) cancelledTasks(q string) string  { return s.prefix + ":cancelledTasks:" + q }

func (s *Store) workingProcesses(w, q string) string {
	return s.prefix + ":workingProcesses:" + w + ":" + q
}

func (s *Store) startedProcesses(w, q string) string {
	return s.prefix + ":startedProcesses:" + w + ":" + q
}

func (s *Store) uniqueTask(q, digest string) string {
	return s.prefix + ":uniqueTasks:" + q + ":" + digest
}

// Channels are those on which the events of one queue are told.
type Channels struct{ Work, Done, Cancel, Delete string }

// Channels are those of a queue.
func (s *Store) Channels(q string) Channels {
	p := s.prefix + "_" + q
	return Channels{Work: p + "_work", Done: p + "_done", Cancel: p + "_cancel", Delete: p + "_delete"}
}
