-- One row per claimed action, or per event and consumer. Keys are bytes: no case, accent or trailing
-- space is folded. The first partition is a placeholder that ensure_partitions() replaces. Index lease
-- answers in order what ran out and, with status behind it, whether a day has anything unfinished.
CREATE TABLE IF NOT EXISTS idem.record (
    scope VARBINARY(64) NOT NULL COMMENT 'empty for claims, the consumer for inbox records',
    idem_key VARBINARY(255) NOT NULL,
    created_on DATE NOT NULL COMMENT 'UTC day of the first claim',
    biz_type VARBINARY(64) NOT NULL,
    status TINYINT UNSIGNED NOT NULL
        COMMENT '0 in progress, 1 done, 2 failed, 3 unknown, 4 released',
    attempt INT UNSIGNED NOT NULL,
    token BIGINT UNSIGNED NOT NULL COMMENT 'grows with every acquisition',
    owner_conn BIGINT UNSIGNED NOT NULL,
    owner_epoch BIGINT UNSIGNED NOT NULL COMMENT 'idem_epoch() of the owner',
    owner_account VARCHAR(384) NOT NULL,
    payload_hash BINARY(32) NULL,
    result JSON NULL,
    error JSON NULL,
    checkpoint JSON NULL,
    lease_until DATETIME(6) NULL COMMENT 'UTC; NULL unless in progress',
    created_at DATETIME(6) NOT NULL COMMENT 'UTC',
    updated_at DATETIME(6) NOT NULL COMMENT 'UTC',
    finished_at DATETIME(6) NULL COMMENT 'UTC',
    PRIMARY KEY (scope, idem_key, created_on),
    KEY lease (lease_until, status)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'Idempotency records, one partition per UTC day'
  PARTITION BY RANGE COLUMNS (created_on) (
    PARTITION p19700101 VALUES LESS THAN ('1970-01-02'));
