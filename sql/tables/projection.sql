CREATE TABLE IF NOT EXISTS idem.projection (
    name VARBINARY(64) NOT NULL,
    table_schema VARCHAR(64) NOT NULL,
    table_name VARCHAR(64) NOT NULL,
    key_columns JSON NOT NULL COMMENT 'name, type, charset, collation, length of each column',
    version_column VARCHAR(64) NOT NULL,
    version_max BIGINT UNSIGNED NOT NULL COMMENT 'the largest that version_column holds',
    kind ENUM('snapshot', 'delta') NOT NULL,
    first_version BIGINT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'delta: version that creates the row',
    park BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'delta: keep events that are too early',
    max_parked INT UNSIGNED NOT NULL DEFAULT 100 COMMENT 'per row of the table',
    updated_at DATETIME(6) NOT NULL COMMENT 'UTC',
    updated_by VARCHAR(384) NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'Projections: tables whose rows follow a stream of versions';
