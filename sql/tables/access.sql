CREATE TABLE IF NOT EXISTS idem.access (
    user VARCHAR(128) NOT NULL COMMENT 'login user, compared exactly',
    host VARCHAR(255) NOT NULL COMMENT 'LIKE pattern for the login host',
    biz_type VARBINARY(64) NOT NULL COMMENT 'LIKE pattern for biz_type or consumer',
    allowed BOOLEAN NOT NULL COMMENT 'a matching 0 wins over every 1',
    updated_at DATETIME(6) NOT NULL COMMENT 'UTC',
    updated_by VARCHAR(384) NOT NULL,
    PRIMARY KEY (user, host, biz_type)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'Which login account may use which biz_type; no matching row means no';
