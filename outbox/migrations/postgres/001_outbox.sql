-- A job that a transaction has written and no relay has stored in Redis yet. state: 0 waits, 1 is parked, 2 was relayed
-- and is kept for a time. Times are milliseconds since 1970.
CREATE TABLE IF NOT EXISTS work_outbox (
	id      BIGSERIAL PRIMARY KEY,
	lane    SMALLINT NOT NULL,
	state   SMALLINT NOT NULL DEFAULT 0,
	since   BIGINT   NOT NULL,
	job_id  TEXT     NOT NULL,
	name    TEXT     NOT NULL,
	record  TEXT     NOT NULL,
	options TEXT     NOT NULL,
	reason  TEXT     NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS work_outbox_state ON work_outbox (state, lane, id);

-- A lane is relayed by one process at a time, one numbered call after the other: open_rows are the rows of the call
-- that is under way. The token makes the lane known to Redis, and is never another one.
CREATE TABLE IF NOT EXISTS work_outbox_lanes (
	lane      SMALLINT PRIMARY KEY,
	token     TEXT     NOT NULL,
	number    BIGINT   NOT NULL DEFAULT 0,
	open_rows TEXT     NOT NULL DEFAULT '',
	opened    BIGINT   NOT NULL DEFAULT 0,
	owner     TEXT     NOT NULL DEFAULT '',
	leased    BIGINT   NOT NULL DEFAULT 0
);
INSERT INTO work_outbox_lanes (lane, token)
SELECT n, md5(random()::text || clock_timestamp()::text || n) FROM generate_series(0, 7) AS n
ON CONFLICT (lane) DO NOTHING;
