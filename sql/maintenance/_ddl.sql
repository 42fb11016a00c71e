-- Changes the partitions of idem.record without making claims wait. An ALTER must have the table to
-- itself for a moment; while it waits for that, every new claim queues behind it. So it first tries fifty
-- times without waiting, which nobody notices. Under steady traffic there may never be a free moment;
-- then it waits once, for as many whole seconds (the server knows no smaller unit) as
-- idem_ddl_lock_wait_ms holds: that is the longest a claim can be held up. The limits stand in the
-- session and not in the ALTER's text: a replica must wait for its own readers, not give up.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._ddl(
    IN in_change TEXT CHARACTER SET utf8mb4,
    OUT out_done BOOLEAN
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: ALTER TABLE idem.record + in_change. out_done is FALSE when others held the table all the time.'
BEGIN
    DECLARE v_wait_ms INT UNSIGNED DEFAULT idem_setting('ddl_lock_wait_ms');
    DECLARE v_tries, v_seconds, v_slept INT UNSIGNED DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1205 SET out_done = FALSE;

    tries: LOOP
        SET out_done = TRUE, v_tries = v_tries + 1, v_seconds = IF(v_tries > 50, v_wait_ms DIV 1000, 0);
        SET STATEMENT lock_wait_timeout = v_seconds, innodb_lock_wait_timeout = v_seconds FOR
            EXECUTE IMMEDIATE CONCAT('ALTER TABLE idem.record ', in_change);
        IF out_done OR v_tries > 50 OR (v_tries = 50 AND v_wait_ms < 1000) THEN
            LEAVE tries;
        END IF;
        SELECT SLEEP(v_wait_ms / 50000) INTO v_slept;
    END LOOP;
END$$
DELIMITER ;
