-- Sealing: a day that is over gets a filter of its keys, and claims need not look into it any more.
--
-- A filter may never miss a key, so nothing may be on its way into the day when the filter is made:
-- 1. The day is marked, and every claim from here on sees it: a claim reads idem_claim_day() after its
--    row is in place as well, and takes the row back when that is another day. So a row either was in
--    place before the plugin read the mark (idem_reload() returns when no older snapshot is in use), or
--    it does not stay.
-- 2. Every row of the day is read with a lock, without waiting. A row of an open transaction, prepared
--    ones and deletes included, answers 1205: the day is busy, and is left for the next call. A row that
--    passed is committed, and no new one can come behind.
-- 3. So a plain read that begins now sees every key that the day will ever have. One that saw fewer rows than
--    were locked makes no filter: a record was forgotten meanwhile, or, never seen so far, a KILL cut the
--    read short without an error.
-- A crash between 1 and 3 leaves a day that takes no records and is probed, until the next call.
--
-- Galera: step 2 does not see the open transactions of other nodes, so there is no sealing. Days that were
-- sealed before the server joined a cluster stay so.
--
-- In small batches, each on its own: no lock is held for long. Who changes a record of the day meanwhile
-- waits for one batch.
--
-- Clocks: two hours after its end, because another server (fail-over) may be behind and still call the
-- day today before its plugin has read the mark; the same difference that the look at tomorrow covers.
-- A server whose clock is set back over a restart reads the mark first, and goes to the next open day.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.seal_days()
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Seals the days that ended two hours ago or earlier: they take no new record, and a filter of their keys
spares claims the look into them. Safe to run at any time, by several at once, and again after it was
killed in the middle.

Answers one row per day that was not sealed yet: day, outcome (sealed; busy: a transaction that wrote
into it is still open; gone: dropped meanwhile; galera: a cluster''s days are not sealed), keys. Notes
itself in idem.task. Errors: 52005, 52006 inside a transaction or with autocommit off (each step must be
committed before the next).

Example: CALL idem.seal_days();
'
BEGIN
    DECLARE v_day DATE DEFAULT '1000-01-01';
    DECLARE v_over DATE DEFAULT
        DATE(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() - @IDEM_CLOCK_SKEW_US@ MICROSECOND);
    DECLARE v_scope, v_last_scope VARBINARY(64);
    DECLARE v_key, v_last_key VARBINARY(255);
    DECLARE v_outcome VARCHAR(8);
    DECLARE v_keys, v_left, v_seen BIGINT UNSIGNED;
    DECLARE v_tries, v_done INT;
    DECLARE v_answer LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[]';
    DECLARE v_error_number INT UNSIGNED;
    DECLARE v_error TEXT CHARACTER SET utf8mb4;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        GET DIAGNOSTICS CONDITION 1 v_error_number = MYSQL_ERRNO, v_error = MESSAGE_TEXT;
        IF v_error_number <> 52006 THEN
            CALL idem._task_end('seal_days', NULL, v_error_number, v_error);
        END IF;
        RESIGNAL;
    END;

    IF @@in_transaction OR NOT @@autocommit THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006,
            MESSAGE_TEXT = 'idem.seal_days: needs autocommit and no open transaction';
    END IF;
    CALL idem._task_begin('seal_days');
    days: LOOP
        SELECT MIN(l.day) INTO v_day
          FROM idem.live_day l LEFT JOIN idem.sealed_day s ON s.day = l.day
         WHERE l.day > v_day AND l.day < LEAST(v_over, idem_today()) AND (NOT l.sealed OR s.day IS NULL);
        IF v_day IS NULL THEN
            LEAVE days;
        END IF;
        IF idem_galera() THEN
            SET v_answer = JSON_ARRAY_APPEND(v_answer, '$',
                                             JSON_OBJECT('day', v_day, 'outcome', 'galera', 'keys', NULL));
            ITERATE days;
        END IF;
        REPEAT -- a KILL can make MariaDB 11 answer that nothing matched, and go on
            UPDATE idem.live_day l SET l.sealed = TRUE WHERE l.day = v_day;
            SELECT COUNT(*) INTO v_done FROM idem.live_day l WHERE l.day = v_day AND NOT l.sealed;
        UNTIL v_done = 0 END REPEAT;
        SET v_done = idem_reload(), v_outcome = 'sealed', v_keys = NULL, v_tries = 0, v_seen = 0,
            v_last_key = NULL, v_last_scope = NULL;
        batches: LOOP
            SET v_key = NULL, v_outcome = 'sealed';
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1205 SET v_outcome = 'busy';
                SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                    SELECT r.scope, r.idem_key INTO v_scope, v_key
                      FROM idem.record r
                     WHERE r.created_on = v_day
                       AND (v_last_key IS NULL OR r.scope > v_last_scope
                            OR (r.scope = v_last_scope AND r.idem_key > v_last_key))
                     ORDER BY r.scope, r.idem_key
                     LIMIT 4999, 1
                      LOCK IN SHARE MODE;
                -- The end of the day? A KILL can make MariaDB answer such a read with no row, and go on; a
                -- COUNT is never lost so. It locks what is left once more, and is believed.
                IF v_outcome = 'sealed' AND v_key IS NULL THEN
                    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                        SELECT COUNT(*) INTO v_left
                          FROM idem.record r
                         WHERE r.created_on = v_day
                           AND (v_last_key IS NULL OR r.scope > v_last_scope
                                OR (r.scope = v_last_scope AND r.idem_key > v_last_key))
                          LOCK IN SHARE MODE;
                END IF;
            END;
            IF v_outcome = 'busy' THEN
                -- Perhaps a record that is just being finished: a second or so of patience.
                SET v_tries = v_tries + 1;
                IF v_tries > 20 THEN
                    LEAVE batches;
                END IF;
                SELECT SLEEP(0.05) INTO v_done;
            ELSEIF v_key IS NOT NULL THEN
                SET v_seen = v_seen + 5000, v_last_scope = v_scope, v_last_key = v_key;
            ELSEIF v_left < 5000 THEN
                SET v_seen = v_seen + v_left;
                LEAVE batches;
            END IF;
        END LOOP;
        IF v_outcome = 'sealed' THEN
            BEGIN
                -- Another call was faster, or the day was dropped: seen below. 1020: and that was
                -- after the read of the records.
                DECLARE CONTINUE HANDLER FOR 1062, 1452, 1020 SET v_done = 0;
                -- READ COMMITTED: the read of the records takes no locks.
                SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
                INSERT INTO idem.sealed_day (day, `keys`, bytes, filter, sealed_at)
                SELECT v_day, f.`keys`, LENGTH(f.filter), f.filter,
                       TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_token() MICROSECOND
                  FROM (SELECT COUNT(r.idem_key) AS `keys`,
                               idem_filter_build(r.scope, r.idem_key, v_day) AS filter
                          FROM (SELECT 1 AS one) o LEFT JOIN idem.record r ON r.created_on = v_day) f
                 WHERE f.`keys` >= v_seen;
            END;
            SELECT MAX(s.`keys`), CASE WHEN COUNT(s.day) THEN 'sealed' WHEN COUNT(*) THEN 'busy' ELSE 'gone' END
              INTO v_keys, v_outcome
              FROM idem.live_day l LEFT JOIN idem.sealed_day s ON s.day = l.day
             WHERE l.day = v_day;
        END IF;
        SET v_answer = JSON_ARRAY_APPEND(v_answer, '$',
                                         JSON_OBJECT('day', v_day, 'outcome', v_outcome, 'keys', v_keys + 0));
    END LOOP;
    SET v_done = idem_reload();
    CALL idem._task_end('seal_days', v_answer, NULL, NULL);
    SELECT t.day, t.outcome, t.`keys`
      FROM JSON_TABLE(v_answer, '$[*]' COLUMNS (day DATE PATH '$.day', outcome VARCHAR(8) PATH '$.outcome',
                                                `keys` BIGINT UNSIGNED PATH '$.keys')) t
     ORDER BY t.day;
END$$
DELIMITER ;
