// Package steps holds tests of work.Step, work.Sleep, work.Receive and work.Send on whole pools: what a job that
// remembers how far it came does over failures, crashes, lost replies, stops and deploys.
package steps
