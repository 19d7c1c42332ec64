// Package subscription is which queues a pool and each of its workers serve, how a worker waits for work in them, and
// which of them may not be asked now. It is used by the fetchers of package work:
//
//   - [Served] is what a pool serves at the moment; [Listing] is what Redis lists with one worker.
//   - [Waiter] waits for a token, on a connection of its own.
//   - [Watch] knows the queues that are paused, at a limit or over a rate, and when to ask them again; [Quota] is how
//     many jobs of a queue a pool runs at once.
//   - [Desired] is the state in which an operator wants a worker.
//
// Each of them has one owner and decides nothing about jobs: nothing here fetches, runs or ends one.
package subscription
