// Package cancelling tests how jobs are ended before their time: a job that is cancelled, too late or ended by hand
// runs no more and leaves nothing behind, whoever fetches, settles or dies at the same moment. It has nothing but
// tests.
package cancelling
