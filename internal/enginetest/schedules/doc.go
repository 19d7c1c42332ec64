// Package schedules tests what is due at a time: each tick is enqueued once, what is due runs soon, and what nobody
// holds is cleaned up, whichever pool does it. It has nothing but tests.
package schedules
