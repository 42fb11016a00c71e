CREATE TABLE IF NOT EXISTS idem.audit (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    at DATETIME(6) NOT NULL COMMENT 'UTC',
    account VARCHAR(384) NOT NULL COMMENT 'login account',
    action VARCHAR(32) NOT NULL,
    biz_type VARBINARY(64) NULL,
    idem_key VARBINARY(255) NULL,
    detail JSON NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'What operators changed by hand';
