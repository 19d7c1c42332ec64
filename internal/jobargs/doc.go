// Package jobargs turns the arguments of a job into JSON and back into what its handler gets: within limits, and with
// the large ones set apart, so that their contents are stored once for all jobs that have the same and not in records.
//
// The Enqueuer calls it for each job, workers where a record names objects. It never looks at the rest of a record, and
// knows where contents are only by what it is handed: see package objects.
package jobargs
