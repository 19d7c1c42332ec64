// Package roundtrip has two who talk to the same Redis share their round trips: the one who settles what has ended, and
// the one who fetches what is next. What comes while a trip is under way gathers and goes with the next one, in one
// pipeline, the outcomes first: what they free is fetched at once.
//
// Nobody waits for somebody who may not come:
//
//   - A settlement waits for a fetch only where the fetcher knows of work and has room for it, or will have as soon as a
//     few short jobs have ended; and for a millisecond at the most.
//   - A fetch waits for a settlement only where outcomes are there already, or one is under way and no processor has
//     nothing to do until then.
//   - After a settlement that was not answered each goes by itself until one is: a fetch whose answer cannot be read
//     keeps no outcome from Redis.
//
// What each does about an answer that is lost is its own matter, as if it had gone by itself.
package roundtrip
