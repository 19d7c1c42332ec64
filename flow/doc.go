// Package flow stores jobs that belong together as one: graphs and chains, in which jobs wait for others, and batches
// of any number. All of a flow is stored or nothing of it runs, and its end is known: a job of its own may run then.
//
//	f := flow.New("order-7")
//	charge := f.Job("charge", orderID)
//	pick := f.Job("pick", orderID)
//	ship := f.Job("ship", orderID).After(charge, pick)   // when both are done
//	f.Job("notify", orderID).After(ship).Even(flow.Dead) // also when ship is dead, or was cancelled
//	f.OnDone("close_order", orderID).OnDeath("refund", orderID)
//	receipt, err := flow.Enqueue(ctx, enq, f)
//
// # Members
//
// A job of a flow is a member. Its name in the flow is that of the job, unless [Job.Named] gives it another; its id is
// that of the flow, a slash and that name: "order-7/charge". It is an ordinary job in all else: it has retries, a
// timeout, a log, and can be cancelled, or retried from the morgue.
//
// A member ends done, or otherwise: it is dead (in the morgue), cancelled, discarded, expired or deleted. Each end
// counts once, in the script that ends the job, by the name of the member. What waits for it then is in its queue with
// that script, is cancelled with it (the default), or goes by [Job.Even] and [Job.Hold].
//
// # Ends
//
// A flow is over when none of its members is left. It has ended "done" if all of them are done, "cancelled" if it was
// cancelled as a whole, else "dead". OnDone and OnDeath name a job that runs then, once; for one that was cancelled
// there is none. It stays known for a while: see [Flow.Retention].
//
// # Redis
//
// A flow is stored in calls of at most 500 members and edges, and then sealed. One that is not sealed runs nothing: the
// same [Enqueue] completes it, and a day after the last call it is removed. No script works on more than 500 members:
// what is left to be done is noted in the flow, and any worker goes on with it.
//
// In a namespace that is divided into partitions a flow is in one of them, with its members. It stays there, and
// whoever asks for it finds it; a partition that is given up is closed when its flows have ended.
package flow
