// Package unique says which jobs are of the same kind, by the digest of the lock that only one of them has, and how a
// job changes another one of its kind that lives. The Enqueuer calls it for jobs with UniqueOptions.
//
// It takes no locks and asks nobody: Redis decides, in the script that stores a job.
package unique
