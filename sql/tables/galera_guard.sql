-- Holds no rows. On a Galera cluster every claim writes its key here and takes it back, without the day that
-- is part of a record's key, so that no two nodes can commit the same key in two days (see core/_acquire).
CREATE TABLE IF NOT EXISTS idem.galera_guard (
    scope VARBINARY(64) NOT NULL,
    idem_key VARBINARY(255) NOT NULL,
    PRIMARY KEY (scope, idem_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'Empty: where claims of different Galera nodes meet';
