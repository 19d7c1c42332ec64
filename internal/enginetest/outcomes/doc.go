// Package outcomes tests what becomes of a run: what a handler may return, what is kept of it, and what logs, states,
// events and counters say, with nothing secret in them. It has nothing but tests.
package outcomes
