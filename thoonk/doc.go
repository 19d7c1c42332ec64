// Package thoonk is feeds, queues and jobs with results on Redis, in the layout that the programs named Thoonk share.
//
// It stands beside the framework: the package work runs jobs, this one moves items between programs that agree on
// names, of whatever language they are.
//
//	client, err := thoonk.Open("redis://localhost:6379/0")
//	ifNew := thoonk.OrCreate(thoonk.Config{})
//	jobs, err := thoonk.OpenJobFeed[Picture, string](ctx, client, "thumbnails", nil, nil, ifNew)
//
//	id, err := jobs.Put(ctx, Picture{Path: "cat.png"})          // one program
//	result, err := jobs.Result(ctx, id, time.Minute)
//
//	claim, err := jobs.Get(ctx, 0)                              // another one
//	err = jobs.FinishWith(ctx, claim.Held, "cat.small.png", 0)
//
// # Kinds of feeds
//
//   - [Leaf]: items under their ids, the newest first; the oldest give way where there is a limit.
//   - [SortedFeed]: items in an order that its users choose, with integer ids.
//   - [Queue]: items that are taken out, first in, first out.
//   - [JobFeed]: items that are claimed, and finished, cancelled or stalled; with results.
//
// Beside them stand [Recurring] items, which come again and again, and [Object]s, whose methods are Lua scripts.
//
// A feed is created once, with its kind: by [Client.Create], or by who opens it first with [OrCreate]. Programs may
// have kinds of their own, see [WithKind]. [Client.Open] opens a feed as what it is; OpenLeaf and its like open it with
// values of a type, which a [Codec] turns into bytes: [JSON] where none is given, [Raw] for bytes that are not to be
// touched.
//
// # Guarantees
//
// Every change is one script, which also publishes its event: there is no half of it, and no event is lost between. A
// change rests on the config that was read before; the script does nothing where that has changed, and the call is made
// anew. So a feed that was deleted, or is another kind by now, is an error and never a mixture. Inserts into a
// [SortedFeed] reserve an id by a script of their own first, so an id may be left out.
//
// A job is claimed by the script that takes it out of the queue, so a worker that dies right after that has claimed it,
// and [JobFeed.Maintain] gives it back: once, whoever calls it. An outcome counts only for the very claim that it was
// got with. A job whose worker is slow may run twice, then: MaxAge must be longer than any job takes.
//
// A [Queue] hands an item out at most once: what is under way to a program that dies, or over a connection that breaks,
// is lost ([ErrUncertain] says when that may be so). Use a [JobFeed] where that matters.
//
// What was put in, published or claimed when the connection broke may have happened: such an error is neither of this
// package's nor a refusal by Redis. Only outcomes of claims are sent again by themselves, since for them gone means
// done.
//
// # Waiting
//
// [Queue.Get], [JobFeed.Get] and [JobFeed.Result] wait in Redis, and wake when something is there, whatever program put
// it in. They take nothing by waking. They end with their ctx, their timeout, or [Client.Close]; an item that was taken
// in that moment is still returned. All who wait at one opened queue or job feed share one connection; waiting for a
// result needs one for each. Every 5 s a wait is begun anew, so an idle one costs a few requests in that time. In a
// Redis that is full, or is a replica or loads in a failover, waiting is refused: then they look again each second at
// the latest. A refusal that lasts until the timeout is their error.
//
// # Events
//
// [Client.Subscribe] is a loop over [event.Event]s. It reconnects by itself and says so. Events are hints: what
// happened while the connection was away was missed, and has to be read from the feeds.
//
// # Redis
//
// The keys and channels are those of docs/contributing/redis-contract.md. Their names begin with [Prefix], which is
// empty by default. Programs that do not use this package may put, publish and take in the same feeds; claims of theirs
// have a time without token. Their ids are taken as they are; only a result has no place under one that [JobFeed.Put]
// refuses. Redis 7.0 or newer.
//
// # Programs of other makes
//
// Those that were released (thoonk.js 0.2, thoonk.py 1.0) have the layout in two forms of their own. A feed is read and
// written in the form that it is found in, key by key; [Config] has a [Form] for feeds that are created here for them.
// A key that fits no form is a [*FormError].
//
// A feed that shows no form, since nobody has used it, is the contract's. Those programs fail where a key has another
// form than theirs: thoonk.py where the config is no hash, thoonk.js where it is one, so that they cannot share a feed
// with each other; and both where a leaf is a list, or while a claim is in a hash. [Client.SetConfig] with FormSorted
// gives thoonk.js a leaf of the contract's form, and a feed that it has created itself before anybody uses it.
//
// What they do otherwise, in their forms too: thoonk.js 0.2 calls each feed that it creates a leaf, unless it is told
// a type, until it opens it again; [OpenJobFeed] and its like write down what the keys show, and only [OpenQueue] opens
// such a queue. It takes the item of a queue that was put last, cannot retract a job, nor the oldest item of a leaf,
// and takes a result out, so that one who waits for it here may miss it. thoonk.py keeps no results: they are
// [Finished] events only. To both of them an edit of a leaf's item makes it the newest. Between the two steps in which
// they claim a job it is in no list.
//
// # Concurrency
//
// All methods of [Client] and of the feeds may be called concurrently. A Client has a pool of connections, and some for
// those who wait; one is enough for a program.
package thoonk
