-- A day exists when a partition ends where it ends, whatever its name. A hole (somebody dropped one in
-- the middle, or there is a catch-all) is cut out of the partition that covers the day, so rows which
-- went there meanwhile move to where they belong. live_day follows: the row is made before the
-- partition, and days that a DBA made by hand are added. Every step is complete in itself: killed
-- anywhere, the next call goes on. Two at once: the loser's ALTER fails because the day is there, and
-- it looks again.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.ensure_partitions()
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Makes sure that today and idem_partitions_ahead more UTC days have a partition of their own, repairs holes,
and brings idem.live_day up to date. Safe at any time, by several at once, and after it was killed.

Answers one row per change: day, outcome (created; repaired: cut out of another partition; contended: others
used the table, try again). Claims never wait longer than idem_ddl_lock_wait_ms. Notes itself in idem.task.
Errors: 52005 if today still has no partition, 52006 inside a transaction (DDL would commit it).

Example: CALL idem.ensure_partitions();
'
BEGIN
    DECLARE v_today DATE DEFAULT idem_today();
    DECLARE v_day, v_last, v_found DATE;
    DECLARE v_name, v_bound VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_done, v_clash, v_reloaded BOOLEAN;
    DECLARE v_end BOOLEAN DEFAULT FALSE;
    DECLARE v_tries, v_found_days, v_shown INT DEFAULT 0;
    DECLARE v_change TEXT CHARACTER SET utf8mb4;
    DECLARE v_outcome LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[]';
    DECLARE v_error_number INT UNSIGNED;
    DECLARE v_error TEXT CHARACTER SET utf8mb4;
    DECLARE v_by_hand CURSOR FOR
        SELECT d.day FROM idem.day d LEFT JOIN idem.live_day l ON l.day = d.day
         WHERE d.day IS NOT NULL AND l.day IS NULL;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        GET DIAGNOSTICS CONDITION 1 v_error_number = MYSQL_ERRNO, v_error = MESSAGE_TEXT;
        IF v_error_number <> 52006 THEN
            CALL idem._task_end('ensure_partitions', NULL, v_error_number, v_error);
        END IF;
        RESIGNAL;
    END;

    CALL idem._task_begin('ensure_partitions');
    SET v_day = v_today, v_last = v_today + INTERVAL idem_setting('partitions_ahead') DAY;
    days: WHILE v_day <= v_last DO
        SET v_name = NULL, v_found = NULL, v_clash = FALSE, v_tries = v_tries + 1;
        SELECT d.partition_name, d.day, d.bound INTO v_name, v_found, v_bound
          FROM idem.day d
         WHERE d.day >= v_day OR d.day IS NULL
         ORDER BY d.position LIMIT 1;
        IF v_found <=> v_day THEN
            SET v_day = v_day + INTERVAL 1 DAY, v_tries = 0;
            ITERATE days;
        END IF;
        CALL idem._live_day(v_day);
        SET v_change = CONCAT('PARTITION ', DATE_FORMAT(v_day, 'p%Y%m%d'), ' VALUES LESS THAN (''',
                              v_day + INTERVAL 1 DAY, ''')');
        IF v_name IS NULL THEN
            SET v_change = CONCAT('ADD PARTITION (', v_change, ')');
        ELSE
            SET v_change = CONCAT('REORGANIZE PARTITION `', REPLACE(v_name, '`', '``'), '` INTO (', v_change,
                                  ', PARTITION `', REPLACE(v_name, '`', '``'), '` VALUES LESS THAN ',
                                  IF(v_bound = 'MAXVALUE', '(MAXVALUE)', CONCAT('(', v_bound, ')')), ')');
        END IF;
        BEGIN
            -- 1493, 1507, 1517: another session changed the partitions since they were read, or was just
            -- changing them and the server left the table out.
            DECLARE CONTINUE HANDLER FOR 1493, 1507, 1517
            BEGIN
                IF v_tries >= 10 THEN
                    RESIGNAL;
                END IF;
                SET v_clash = TRUE;
            END;
            CALL idem._ddl(v_change, v_done);
        END;
        IF v_clash THEN
            ITERATE days;
        END IF;
        SET v_outcome = JSON_ARRAY_APPEND(v_outcome, '$', JSON_OBJECT('day', v_day, 'outcome',
            CASE WHEN NOT v_done THEN 'contended' WHEN v_name IS NULL THEN 'created' ELSE 'repaired' END));
        IF NOT v_done THEN
            LEAVE days; -- the same others would hold up the next day
        END IF;
    END WHILE;

    OPEN v_by_hand;
    COMMIT;
    live: LOOP
        SET v_end = FALSE;
        FETCH v_by_hand INTO v_day;
        IF v_end THEN
            LEAVE live;
        END IF;
        CALL idem._live_day(v_day);
    END LOOP;
    CLOSE v_by_hand;
    -- The placeholder of a new table takes no rows; it goes when there is a real day.
    SELECT COUNT(*) > 1 AND SUM(p.partition_description = '''1970-01-02''') > 0 INTO v_clash
      FROM information_schema.partitions p
     WHERE p.table_schema = 'idem' AND p.table_name = 'record';
    IF v_clash THEN
        CALL idem._ddl('DROP PARTITION IF EXISTS p19700101', v_done);
    END IF;
    -- While another session changes the table the server leaves it out here: no row says nothing then.
    SET v_tries = 0;
    REPEAT
        SELECT COUNT(*), COALESCE(SUM(p.partition_description = 'MAXVALUE'
                                      OR p.partition_description > CONCAT('''', v_today, '''')), 0)
          INTO v_shown, v_found_days
          FROM information_schema.partitions p
         WHERE p.table_schema = 'idem' AND p.table_name = 'record';
        SET v_tries = v_tries + 1;
        IF v_shown = 0 THEN
            SELECT SLEEP(0.05) INTO v_reloaded;
        END IF;
    UNTIL v_shown > 0 OR v_tries = 100 END REPEAT;
    IF v_found_days = 0 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT =
            'idem.ensure_partitions: today has no partition yet: other sessions hold table idem.record';
    END IF;
    SET v_reloaded = idem_reload(); -- claims see the new days at once
    CALL idem._task_end('ensure_partitions', v_outcome, NULL, NULL);
    SELECT j.day, j.outcome
      FROM JSON_TABLE(v_outcome, '$[*]' COLUMNS (day DATE PATH '$.day',
                                                 outcome VARCHAR(16) PATH '$.outcome')) j;
END$$
DELIMITER ;
