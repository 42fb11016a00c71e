CREATE TABLE IF NOT EXISTS idem.parked_event (
    projection VARBINARY(64) NOT NULL,
    id_hash BINARY(32) NOT NULL COMMENT 'equal for ids that the key column takes for equal',
    version BIGINT UNSIGNED NOT NULL,
    id LONGBLOB NOT NULL COMMENT 'as the caller gave it',
    set_json LONGBLOB NULL,
    parked_at DATETIME(6) NOT NULL COMMENT 'UTC',
    parked_by VARCHAR(384) NOT NULL,
    PRIMARY KEY (projection, id_hash, version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'Events of delta projections that came before their predecessors';
