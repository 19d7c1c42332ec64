// Package record knows what is stored of a job: its record, its trail, its outcome and its last check-in, each as the
// text that stands in Redis. The engine writes and reads them, and so does whatever inspects and mends what is stored.
//
// It knows nothing of Redis nor of keys: package rdb has those, and docs/contributing/redis-contract.md says where each
// text stands. What it cannot read it says so of in an error that quotes nothing of it: the args of a job may be
// secret.
package record
