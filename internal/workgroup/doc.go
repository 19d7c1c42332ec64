// Package workgroup is how one goroutine hands work to many and hears from them, at next to no cost for each piece of
// work: a [Pool] of goroutines that take what is added, the [Slots] that bound how much may be under way, an [Outbox]
// in which the results gather, a [Wakeup] for whoever waits, and a [Scaler] that adds and removes groups of goroutines
// as there is work for them. A worker of package work is made of these. Nothing here knows what the work is, or Redis.
package workgroup
