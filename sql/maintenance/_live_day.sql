-- Open claims read idem.live_day with locks, and a new row may have to go between the rows they read.
-- Not waited for longer than a claim may wait for this: 1205 goes to the caller, the next call tries
-- again, and until then claims of that day, if it is today, are refused (52005) as before.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._live_day(
    IN in_day DATE
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: adds a day to idem.live_day unless it is there. Errors: 1205 when open claims hold its place.'
BEGIN
    DECLARE v_seconds INT UNSIGNED DEFAULT CEIL(idem_setting('ddl_lock_wait_ms') / 1000);

    SET STATEMENT innodb_lock_wait_timeout = v_seconds FOR
        INSERT IGNORE INTO idem.live_day (day, created_at)
        VALUES (in_day, TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND);
    COMMIT;
END$$
DELIMITER ;
