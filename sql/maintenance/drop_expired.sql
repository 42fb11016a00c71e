-- A record may not leave while its action is unfinished, and between a check and the DROP another session could
-- take a released record over. That is closed without locks: rows enter only today's partition; done and failed
-- rows never change again; in progress and unknown rows pin the day. What is left are released rows, free for
-- anybody: they are deleted first, one by one, without waiting (a session that takes one over makes the DELETE
-- miss it, and so can a KILL, which MariaDB may answer with nothing matched: what was missed is seen in the
-- look, and keeps the day until the next call). Once a day is seen with done and failed rows only it stays so
-- for ever, so the DROP may come any time after the look. What is not committed yet holds the table, and the
-- DROP does not get it. On a Galera cluster the DROP aborts it instead, on every node, unless it commits
-- between the look and the DROP; but only a transaction that is as old as the day can have put a row there.
-- (The looks are SELECT ... INTO: in SET and IF a subquery is a locking read, which would wait for the holders
-- and make others wait. And they count: a KILL can make MariaDB answer that nothing EXISTS, or with no row, and
-- go on; a COUNT or SUM is never lost so.)
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.drop_expired()
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Drops the days that are more than idem_retention_days before today, oldest first; never the newest partition,
never a day with records in progress or unknown. After that a key of that day may be claimed anew.

Answers one row per day: day, outcome (dropped; pinned: see detail; contended: others used the table, try
again; missing: it had no partition any more), detail. Claims never wait longer than idem_ddl_lock_wait_ms.
Safe at any time, by several at once, and after it was killed. Notes itself in idem.task.
Errors: 52006 inside a transaction (DDL would commit it).

Example: CALL idem.drop_expired();
'
BEGIN
    DECLARE v_keep_from DATE DEFAULT idem_today() - INTERVAL idem_setting('retention_days') DAY;
    DECLARE v_batch INT UNSIGNED DEFAULT idem_setting('reap_batch');
    DECLARE v_day, v_after, v_newest DATE;
    DECLARE v_name VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_open, v_unknown, v_free, v_count, v_shown, v_there INT UNSIGNED;
    DECLARE v_scope VARBINARY(64);
    DECLARE v_key VARBINARY(255);
    DECLARE v_row_day DATE;
    DECLARE v_done, v_end, v_gone BOOLEAN DEFAULT FALSE;
    DECLARE v_contended BOOLEAN DEFAULT FALSE;
    DECLARE v_result VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_detail VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE v_outcome LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[]';
    DECLARE v_error_number INT UNSIGNED;
    DECLARE v_error TEXT CHARACTER SET utf8mb4;
    DECLARE v_days CURSOR FOR
        SELECT a.day, MAX(a.partition_name)
          FROM (SELECT l.day, NULL AS partition_name FROM idem.live_day l
                 UNION ALL SELECT d.day, d.partition_name FROM idem.day d) a
         WHERE a.day < v_keep_from
         GROUP BY a.day ORDER BY a.day;
    DECLARE v_released CURSOR FOR
        SELECT r.scope, r.idem_key, r.created_on FROM idem.record r FORCE INDEX (lease)
         WHERE r.created_on > v_after AND r.created_on <= v_day
           AND r.lease_until IS NULL AND r.status = 4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        GET DIAGNOSTICS CONDITION 1 v_error_number = MYSQL_ERRNO, v_error = MESSAGE_TEXT;
        IF v_error_number <> 52006 THEN
            CALL idem._task_end('drop_expired', NULL, v_error_number, v_error);
        END IF;
        RESIGNAL;
    END;

    CALL idem._task_begin('drop_expired');
    OPEN v_days;
    COMMIT; -- the cursor holds its rows; the table must not be held while an ALTER wants it
    days: LOOP
        SET v_end = FALSE, v_gone = FALSE, v_result = NULL, v_detail = NULL;
        FETCH v_days INTO v_day, v_name;
        IF v_end THEN
            LEAVE days;
        END IF;
        SELECT COALESCE(MAX(IF(d.day < v_day, d.day, NULL)), DATE '1000-01-01'), MAX(d.day)
          INTO v_after, v_newest FROM idem.day d;

        IF v_name IS NULL THEN
            -- While another session changes the table the server leaves it out of what it shows.
            SELECT COUNT(*), COALESCE(SUM(p.partition_description =
                                          CONCAT('''', v_day + INTERVAL 1 DAY, '''')), 0)
              INTO v_shown, v_there
              FROM information_schema.partitions p
             WHERE p.table_schema = 'idem' AND p.table_name = 'record';
        END IF;
        IF v_name IS NULL AND (v_shown = 0 OR v_there > 0) THEN
            SET v_result = 'contended';
        ELSEIF v_name IS NULL THEN
            -- Dropped by hand, or a call was killed after its DROP. If there are rows of this day in
            -- another partition (made by hand, of several days) they leave with that one.
            SELECT COUNT(*) INTO v_open
              FROM (SELECT 1 FROM idem.record r WHERE r.created_on = v_day LIMIT 1) t;
            IF v_open THEN
                SET v_result = 'pinned', v_detail = 'its rows are in a partition of several days';
            ELSE
                SET v_result = 'missing', v_gone = TRUE;
            END IF;
        ELSEIF v_day >= v_newest THEN
            SET v_result = 'pinned', v_detail = 'the newest partition';
        ELSEIF v_contended OR v_newest IS NULL THEN
            SET v_result = 'contended';
        END IF;

        IF v_result IS NULL THEN
            SELECT COUNT(*) INTO v_open
              FROM (SELECT 1 FROM idem.record r FORCE INDEX (lease)
                     WHERE r.created_on > v_after AND r.created_on <= v_day
                       AND (r.lease_until IS NOT NULL OR (r.lease_until IS NULL AND r.status = 3))
                     LIMIT 1) t;
            IF NOT v_open THEN
                SET v_count = 0;
                OPEN v_released;
                COMMIT;
                records: LOOP
                    FETCH v_released INTO v_scope, v_key, v_row_day;
                    IF v_end THEN
                        LEAVE records;
                    END IF;
                    IF v_count MOD v_batch = 0 THEN
                        START TRANSACTION; -- commits the batch before
                    END IF;
                    SET v_count = v_count + 1;
                    BEGIN
                        DECLARE CONTINUE HANDLER FOR 1205 DO 0; -- being taken over: seen below
                        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                            DELETE FROM idem.record
                             WHERE scope = v_scope AND idem_key = v_key AND created_on = v_row_day
                               AND status = 4;
                    END;
                END LOOP;
                CLOSE v_released;
                COMMIT;
            END IF;
            SELECT COALESCE(SUM(r.status = 0), 0), COALESCE(SUM(r.status = 3), 0),
                   COALESCE(SUM(r.status = 4), 0)
              INTO v_open, v_unknown, v_free
              FROM idem.record r FORCE INDEX (lease)
             WHERE r.created_on > v_after AND r.created_on <= v_day
               AND (r.lease_until IS NOT NULL OR (r.lease_until IS NULL AND r.status IN (0, 3, 4)));
            COMMIT;
            IF v_open + v_unknown + v_free > 0 THEN
                SET v_result = 'pinned',
                    v_detail = CONCAT(v_open, ' in progress, ', v_unknown, ' unknown, ', v_free, ' released');
            ELSE
                CALL idem._ddl(CONCAT('DROP PARTITION IF EXISTS `', REPLACE(v_name, '`', '``'), '`'), v_done);
                IF v_done THEN
                    SET v_result = 'dropped', v_gone = TRUE;
                ELSE
                    -- One try a call: the days after it would be held up by the same others.
                    SET v_result = 'contended', v_contended = TRUE;
                END IF;
            END IF;
        END IF;
        IF v_gone THEN
            BEGIN
                -- An open claim may still be reading the row, or a KILL may make MariaDB miss it. Then the
                -- next call finds the day missing.
                DECLARE CONTINUE HANDLER FOR 1205 DO 0;
                SET STATEMENT innodb_lock_wait_timeout = 0 FOR DELETE FROM idem.live_day WHERE day = v_day;
            END;
            COMMIT;
        END IF;
        SET v_outcome = JSON_ARRAY_APPEND(v_outcome, '$',
            JSON_OBJECT('day', v_day, 'outcome', v_result, 'detail', v_detail));
    END LOOP;
    CLOSE v_days;
    CALL idem._task_end('drop_expired', v_outcome, NULL, NULL);
    SELECT j.day, j.outcome, j.detail
      FROM JSON_TABLE(v_outcome, '$[*]' COLUMNS (day DATE PATH '$.day', outcome VARCHAR(16) PATH '$.outcome',
                                                 detail VARCHAR(255) PATH '$.detail')) j;
END$$
DELIMITER ;
