CREATE TABLE IF NOT EXISTS idem.machine (
    name VARBINARY(64) NOT NULL,
    table_schema VARCHAR(64) NOT NULL,
    table_name VARCHAR(64) NOT NULL,
    key_columns JSON NOT NULL COMMENT 'name, type, charset, collation, length of each column',
    state_column VARCHAR(64) NOT NULL,
    reachable_from JSON NOT NULL COMMENT 'each state, and the states that lead to it',
    updated_at DATETIME(6) NOT NULL COMMENT 'UTC',
    updated_by VARCHAR(384) NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'State machines over a column of a table';
