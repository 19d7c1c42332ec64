// Package replicas waits until replicas of Redis have what was executed, beside those who go on: a call is answered,
// its lane is free for the next one, and only who wants to know of the replicas waits. Calls that were answered
// meanwhile wait together, in one WAIT.
//
// The enqueuer and the settler of a worker hand it calls of their lanes. It asks on connections of its own, so another
// server may answer than the one that executed the call: what the lane is at there shows whether that server has it.
// It never decides what becomes of a call that is lost, nor sends one again.
package replicas
