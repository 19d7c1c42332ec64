// Package outbox enqueues jobs in the program's own SQL transaction: a job runs if the transaction is committed, and
// never if it is rolled back.
//
//	box, err := outbox.New(outbox.PostgreSQL)
//	err = box.Migrate(ctx, db)                        // or the files of Migrations, by the program's own tool
//
//	tx, err := db.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, "INSERT INTO orders ...")
//	_, err = box.Enqueue(ctx, tx, work.Entry{Name: "send_invoice", Args: []any{order}})
//	err = tx.Commit()
//
//	relay, err := box.Relay(db, pool.Enqueuer(), outbox.RelayOptions{})
//	err = relay.Run(ctx)                              // in the pool's process, or in one of its own
//
// # How a job comes into Redis
//
// Enqueue checks and encodes the jobs and writes a row for each. A [Relay] reads committed rows, stores their jobs in
// Redis, in batches, and deletes them. Each row is in one of 8 lanes. A lane is relayed by one process at a time, in
// calls that have a number: which rows a call has is committed before it is sent, and Redis answers a number that it
// knows with what it answered before, and stores nothing. So a relay may be killed anywhere: whoever comes next finds
// the call in the table and sends the same one. That the job's record exists would be no proof, since a job may have
// run and be forgotten before its row is deleted. Several relays share the lanes.
//
// Rows that cannot be jobs, of a name that nobody serves for instance, are parked with the reason and told. They hold
// up no others. See [Outbox.Parked], [Outbox.Retry] and [Outbox.Discard].
//
// # Databases
//
// PostgreSQL 13, MySQL 8.0.13, MariaDB 10.6 and SQLite 3.35, or newer, by any driver of database/sql. Transactions of
// pgx are those of package pgxoutbox, which also wakes a relay when a transaction is committed.
//
// # Concurrency
//
// All methods of [Outbox] may be called concurrently, by as many programs as there are. Enqueue uses the connection of
// its transaction and nothing else.
package outbox
