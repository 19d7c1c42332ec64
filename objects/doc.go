// Package objects stores contents once that many jobs share, under the SHA-256 of their bytes.
//
// A value that a thousand jobs need is uploaded once, and the record of each job holds a reference of 100 bytes:
//
//	store, err := objects.Open("redis://localhost:6379/0", objects.Options{Namespace: "shop"})
//	prices, err := objects.Share(ctx, store, priceList)
//	enq.Enqueue(ctx, "reprice", shop.ID, prices)
//
//	func (c *Context) Reprice(ctx context.Context, shopID int64, prices objects.Ref[PriceList]) error {
//		list, err := prices.Value(ctx)
//		...
//	}
//
// # Life of an object
//
// [Store.Put] notes that the object is used, and uploads it if it is not there. From then on it stays for the grace
// period, an hour by default: that is how long whoever put it has to enqueue a job with it. The script that enqueues
// adds the job's id to the set of those that refer to the object, or refuses the job if the object has vanished; the
// one that ends the job takes the id out. An object that no job refers to and that was not used for the grace period is
// removed by [Store.Collect], which the framework calls in the background in small steps ([Collector]).
//
// # Guarantees
//
//   - A content is under its hash as a whole or not at all. Pieces of an upload whose process died expire after a
//     minute.
//   - An object is not removed while another submit of the same content is under way. Noting a use and removing are
//     scripts, and the one that removes looks at the last use and at the references again.
//   - References are a set of ids: a submit that is repeated counts once. Ids of jobs that are gone, however they went,
//     are removed by the collector.
//   - Nobody gets a content that does not have its hash: that is a [*MismatchError].
//   - Every step may be repeated. A Put whose replies are lost tries again by itself a few times, then says so.
//
// Nothing decides by a client's clock; the time is that of Redis.
//
// # Another home
//
// Contents are in Redis, in pieces of 1 MiB, unless Options.Home names another place, such as a [Directory]. References
// and last uses stay in Redis, so a removal has two steps there: the collector marks the object as leaving, which makes
// others that put it wait, and has half a minute to take the content out. A collector that is paused between looking at
// its clock and removing the file, and goes on after more than half a minute more, could still remove a content that
// was put again meanwhile; its readers then get a [*VanishedError]. With contents in Redis there is no such gap.
//
// # Reading
//
// A [Cache] in front of a store keeps what was read last, up to a number of bytes. A thousand readers of one missing
// object cause one download, which is verified once; a reader that gives up does not end it for the others.
//
// # Concurrency
//
// Everything may be used concurrently but a [Collector] and [Ref.Bind], as their comments say. Close a store when
// nobody uses it any more; a cache may be closed at any time.
package objects
