-- A job that a transaction has written and no relay has stored in Redis yet. state: 0 waits, 1 is parked, 2 was relayed
-- and is kept for a time. Times are milliseconds since 1970.
CREATE TABLE IF NOT EXISTS work_outbox (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	lane    INTEGER NOT NULL,
	state   INTEGER NOT NULL DEFAULT 0,
	since   INTEGER NOT NULL,
	job_id  TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	record  TEXT    NOT NULL,
	options TEXT    NOT NULL,
	reason  TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS work_outbox_state ON work_outbox (state, lane, id);

-- A lane is relayed by one process at a time, one numbered call after the other: open_rows are the rows of the call
-- that is under way. The token makes the lane known to Redis, and is never another one.
CREATE TABLE IF NOT EXISTS work_outbox_lanes (
	lane      INTEGER PRIMARY KEY,
	token     TEXT    NOT NULL,
	number    INTEGER NOT NULL DEFAULT 0,
	open_rows TEXT    NOT NULL DEFAULT '',
	opened    INTEGER NOT NULL DEFAULT 0,
	owner     TEXT    NOT NULL DEFAULT '',
	leased    INTEGER NOT NULL DEFAULT 0
);
INSERT OR IGNORE INTO work_outbox_lanes (lane, token) VALUES
	(0, hex(randomblob(16))), (1, hex(randomblob(16))), (2, hex(randomblob(16))), (3, hex(randomblob(16))),
	(4, hex(randomblob(16))), (5, hex(randomblob(16))), (6, hex(randomblob(16))), (7, hex(randomblob(16)));
