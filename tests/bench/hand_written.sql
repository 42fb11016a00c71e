-- What a good team writes without idem. The benchmark runs these statements and nothing else on that
-- side, all prepared; `-- name:` is how the driver asks for one. The record table has its key as the
-- primary key, which is the fastest form, and one index for deleting old records.

-- name: create
CREATE DATABASE IF NOT EXISTS hand;

-- name: create
USE hand;

-- name: create
CREATE TABLE hand.record (
    idem_key VARBINARY(255) NOT NULL PRIMARY KEY,
    biz_type VARBINARY(64) NOT NULL,
    payload_hash BINARY(32) NULL,
    status TINYINT UNSIGNED NOT NULL,
    result JSON NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    KEY created_at (created_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The business of every side.
-- name: create
CREATE TABLE hand.account (id INT UNSIGNED NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)
    ENGINE = InnoDB;

-- name: create
INSERT INTO hand.account SELECT seq, 0 FROM seq_1_to_100000;

-- name: create
CREATE TABLE hand.ledger (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    account_id INT UNSIGNED NOT NULL,
    amount BIGINT NOT NULL,
    note VARCHAR(64) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- Two business writes, the same for idem, for hand-written and for no idempotency at all.
-- name: write 1
UPDATE hand.account SET balance = balance - 10 WHERE id = ?;

-- name: write 2
INSERT INTO hand.ledger (account_id, amount, note) VALUES (?, 10, 'order');

-- The hand-written transaction: start, claim, write 1, write 2, finish, commit. 1 affected row is the
-- first time, 0 is a duplicate; the client hashed the payload itself.
-- name: start
START TRANSACTION;

-- name: claim
INSERT INTO hand.record (idem_key, biz_type, payload_hash, status, created_at, updated_at)
VALUES (?, 'bench', ?, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE idem_key = VALUES(idem_key);

-- name: finish
UPDATE hand.record SET status = 1, result = ?, updated_at = UTC_TIMESTAMP(6)
 WHERE idem_key = ? AND status = 0;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- A duplicate: claim touched no row, so the stored result is read.
-- name: replay
SELECT status, payload_hash, result FROM hand.record WHERE idem_key = ?;

-- Retention, again and again until it touches no row.
-- name: delete batch
DELETE FROM hand.record WHERE created_at < ? ORDER BY created_at LIMIT 4000;
