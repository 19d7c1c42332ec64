// Package migrate brings the jobs of another library over while both sides run, each once.
//
// The jobs are in two Redis servers, or in two places of a cluster, so no script can take a job out of the one and
// store it in the other. Both halves are made such that they can be repeated instead:
//
//  1. Take. A script of the old side takes up to a few hundred jobs out of their place and writes them, whole, into a
//     batch: a hash beside the queue (package ledger). There is one batch at a time. Who finds one does not take
//     another one but goes on with that. A job which this side would refuse is not taken: it stays where the old
//     workers find it.
//  2. Send. The batch is stored by a numbered call (internal/rdb), whose lane and number stand in the ledger. Redis
//     answers a number that it knows as it did the first time, and stores nothing again, whatever became of the jobs
//     meanwhile.
//     It knows the numbers of these lanes for 90 days; a batch that is older than 60 days is told, and not sent.
//  3. Close. A script of the old side removes the batch, if it still is the one of that number, frees the locks of its
//     jobs there, and puts back what could not be stored.
//
// What happens when the program dies, or a reply is lost:
//
//   - before or after Take: the jobs are in their place, or in the batch; the next one looks for a batch first. Of a
//     lost reply the same is true of the program itself: it looks for a batch whatever Take answered;
//   - before Send: the batch is sent by the next one. After it, or where its reply was lost: it is sent again, under
//     its number, and the answer is the first one;
//   - before Close: the same, and the batch is removed then. After it, or where its reply was lost: there is no batch
//     of that number any more, and nothing is done.
//
// So two of these programs at a time do no harm: both send one batch, and one of them closes it. A program that slept
// through that, and sends late, is refused as STALE, since the lane is at a later number; or it is answered as before.
//
// Dead jobs come over as stalled ones. They are stored as due in 90 years and stalled between Send and Close, so they
// cannot begin whenever the program dies.
//
// With several partitions a batch is for one of them, which the batch names: the home of its jobs when it was taken. A
// refusal that names a newer map (ROUTE) proves that the call was never executed there, and the jobs are put back to be
// taken anew.
//
// Package asynq and package gocraft know the layouts. Nothing here knows of one.
package migrate
