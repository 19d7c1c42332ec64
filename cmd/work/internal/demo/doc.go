// Package demo is `work demo`: it measures every file below a directory by background jobs, reads the results back from
// Redis, walks the directory again without jobs, and compares.
//
// A run is a line of steps, each in a file of its own: the plan of the jobs (orders.go), who runs them (workforce.go: a
// pool in this process, or a fleet of child processes of which one may be killed), what happened when (run_log.go), the
// results (collector.go), what is wrong with them (difference.go), and what is printed (summary.go, report.go).
//
// The command calls Run, and in a child process RunWorker. Nothing here reads flags or ends the program.
package demo
