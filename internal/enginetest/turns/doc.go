// Package turns tests jobs that have keys: whoever fetches, fails, dies, looks or ends them by hand, the keys of a
// queue have turns, and nothing of them is lost or left. It has nothing but tests.
package turns
