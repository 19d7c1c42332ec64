-- A job that a transaction has written and no relay has stored in Redis yet. state: 0 waits, 1 is parked, 2 was relayed
-- and is kept for a time. Times are milliseconds since 1970.
CREATE TABLE IF NOT EXISTS work_outbox (
	id      BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
	lane    SMALLINT     NOT NULL,
	state   SMALLINT     NOT NULL DEFAULT 0,
	since   BIGINT       NOT NULL,
	job_id  VARCHAR(200) NOT NULL,
	name    VARCHAR(255) NOT NULL,
	record  LONGTEXT     NOT NULL,
	options LONGTEXT     NOT NULL,
	reason  TEXT         NOT NULL DEFAULT (''),
	INDEX work_outbox_state (state, lane, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- A lane is relayed by one process at a time, one numbered call after the other: open_rows are the rows of the call
-- that is under way. The token makes the lane known to Redis, and is never another one.
CREATE TABLE IF NOT EXISTS work_outbox_lanes (
	lane      SMALLINT    NOT NULL PRIMARY KEY,
	token     VARCHAR(64) NOT NULL,
	number    BIGINT      NOT NULL DEFAULT 0,
	open_rows LONGTEXT    NOT NULL DEFAULT (''),
	opened    BIGINT      NOT NULL DEFAULT 0,
	owner     VARCHAR(64) NOT NULL DEFAULT '',
	leased    BIGINT      NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO work_outbox_lanes (lane, token) VALUES
	(0, UUID()), (1, UUID()), (2, UUID()), (3, UUID()), (4, UUID()), (5, UUID()), (6, UUID()), (7, UUID());
