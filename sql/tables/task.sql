-- One row per maintenance task, kept by the task itself: the same for idemd, an EVENT or a DBA's CALL.
CREATE TABLE IF NOT EXISTS idem.task (
    name VARCHAR(64) NOT NULL COMMENT 'the procedure',
    runs BIGINT UNSIGNED NOT NULL COMMENT 'times it was started',
    failures INT UNSIGNED NOT NULL COMMENT 'errors since the last success',
    started_at DATETIME(6) NOT NULL COMMENT 'UTC',
    ended_at DATETIME(6) NULL COMMENT 'UTC; NULL while it runs, or when it was killed',
    succeeded_at DATETIME(6) NULL COMMENT 'UTC; end of the last run without an error',
    duration_us BIGINT UNSIGNED NULL COMMENT 'of the last run that ended',
    outcome JSON NULL COMMENT 'of the last success',
    error_number INT UNSIGNED NULL COMMENT 'of the last run, NULL after a success',
    error TEXT NULL,
    account VARCHAR(384) NOT NULL COMMENT 'login account of the last run',
    PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'Maintenance tasks: when each last ran and what came of it';
