// Package server starts the servers that the libraries under measurement store their jobs in, each in the same state:
// on a free loopback port, empty, and writing nothing to a disk that a crash would need. It also counts what they use.
package server
