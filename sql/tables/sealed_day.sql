-- The keys of sealed days as filters (udf/filter.h). The plugin reads them itself, from nowhere else; a
-- row that is missing, damaged or of another day only means that the day is probed. Goes with its day.
CREATE TABLE IF NOT EXISTS idem.sealed_day (
    day DATE NOT NULL,
    `keys` BIGINT UNSIGNED NOT NULL COMMENT 'records when it was sealed',
    bytes INT UNSIGNED NULL COMMENT 'length of filter',
    filter LONGBLOB NULL COMMENT 'NULL: too many keys for one',
    sealed_at DATETIME(6) NOT NULL COMMENT 'UTC; tells one seal of a day from the next',
    PRIMARY KEY (day),
    FOREIGN KEY (day) REFERENCES idem.live_day (day) ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'Filters of the days that are over';
