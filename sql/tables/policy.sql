CREATE TABLE IF NOT EXISTS idem.policy (
    biz_type VARBINARY(64) NOT NULL,
    lease_seconds INT UNSIGNED NULL COMMENT 'NULL: idem_lease_seconds',
    on_expiry ENUM('retry', 'unknown', 'fail') NOT NULL DEFAULT 'retry',
    max_result_bytes INT UNSIGNED NULL COMMENT 'NULL: idem_max_result_bytes',
    require_payload BOOLEAN NOT NULL DEFAULT FALSE,
    observe BOOLEAN NOT NULL DEFAULT FALSE,
    updated_at DATETIME(6) NOT NULL COMMENT 'UTC',
    updated_by VARCHAR(384) NOT NULL,
    PRIMARY KEY (biz_type)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'How a biz_type is treated, where it differs from the defaults';
