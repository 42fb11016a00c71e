-- The days whose records are kept. A row is here before its partition exists and leaves after it has
-- been dropped, so this is never less than what holds records: whoever looks at all of these days
-- looks everywhere. A day without a row here takes no claims (52005).
CREATE TABLE IF NOT EXISTS idem.live_day (
    day DATE NOT NULL,
    created_at DATETIME(6) NOT NULL,
    sealed BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'over: takes no new record, ever (see seal_days)',
    PRIMARY KEY (day)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'UTC days that have a partition in record';
