-- Expired leases are found by a plain read of index lease, in its order, and each is settled by its
-- primary key: no gap and no row that is not settled is ever locked, so live claims go on. A row that
-- somebody else has in hand is skipped, not waited for, and a row that changed since the read has
-- another token. A batch ends by its commit, so the largest transaction is idem_reap_batch rows; the
-- next begins where it ended, so that neither skipped rows nor rows that purge has not removed yet are
-- gone through again. The claim itself does the same to a lapsed lease it meets (idem._judge).
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.reap()
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Settles claims whose lease has run out, oldest first, by the policy of their biz_type (on_expiry): retry
releases the key, unknown leaves it to an operator, fail keeps a failure. At most 20 batches of
idem_reap_batch rows, a commit and a short pause after each. Never waits for a lock.

Answers one row: released, unknown, failed, skipped (others had them in hand), more (1: call again).
Safe at any time, by several at once, and after it was killed. Notes itself in idem.task.
Errors: 52006 inside a transaction (it would be committed).

Example: CALL idem.reap();
'
BEGIN
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
    DECLARE v_batch INT UNSIGNED DEFAULT idem_setting('reap_batch');
    DECLARE v_batches, v_read, v_settled, v_skipped, v_slept INT UNSIGNED DEFAULT 0;
    DECLARE v_released, v_unknown, v_failed INT UNSIGNED DEFAULT 0;
    DECLARE v_from DATETIME(6) DEFAULT '1970-01-01';
    DECLARE v_end, v_more BOOLEAN DEFAULT FALSE;
    DECLARE v_scope VARBINARY(64);
    DECLARE v_key VARBINARY(255);
    DECLARE v_day DATE;
    DECLARE v_token, v_current BIGINT UNSIGNED;
    DECLARE v_lease_until DATETIME(6);
    DECLARE v_on_expiry VARCHAR(8) CHARACTER SET utf8mb4;
    DECLARE v_outcome LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_error_number INT UNSIGNED;
    DECLARE v_error TEXT CHARACTER SET utf8mb4;
    DECLARE v_expired CURSOR FOR
        SELECT r.scope, r.idem_key, r.created_on, r.token, r.lease_until, COALESCE(p.on_expiry, 'retry')
          FROM idem.record r FORCE INDEX (lease)
          LEFT JOIN idem.policy p ON p.biz_type = r.biz_type
         WHERE r.lease_until >= v_from AND r.lease_until <= v_now AND r.status = 0
         ORDER BY r.lease_until LIMIT v_batch;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        GET DIAGNOSTICS CONDITION 1 v_error_number = MYSQL_ERRNO, v_error = MESSAGE_TEXT;
        IF v_error_number <> 52006 THEN
            CALL idem._task_end('reap', NULL, v_error_number, v_error);
        END IF;
        RESIGNAL;
    END;

    CALL idem._task_begin('reap');
    batches: LOOP
        SET v_read = 0, v_settled = 0;
        OPEN v_expired;
        COMMIT; -- the cursor holds its rows; without a snapshot no locking read below can be too old
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED; -- a row that has gone leaves no gap locked
        START TRANSACTION;
        records: LOOP
            SET v_end = FALSE;
            FETCH v_expired INTO v_scope, v_key, v_day, v_token, v_lease_until, v_on_expiry;
            IF v_end THEN
                LEAVE records;
            END IF;
            SET v_read = v_read + 1, v_from = v_lease_until, v_current = NULL;
            SELECT r.token INTO v_current FROM idem.record r
             WHERE r.scope = v_scope AND r.idem_key = v_key AND r.created_on = v_day
               AND r.token = v_token AND r.status = 0 AND r.lease_until <= v_now
               FOR UPDATE SKIP LOCKED;
            IF v_current IS NULL THEN
                SET v_skipped = v_skipped + 1;
                ITERATE records;
            END IF;
            REPEAT -- the row is locked; a KILL can make MariaDB 11 answer that nothing matched, and go on
                UPDATE idem.record r
                   SET r.status = ELT(FIELD(v_on_expiry, 'retry', 'unknown', 'fail'), 4, 3, 2),
                       r.error = IF(v_on_expiry = 'fail', '{"reason":"lease expired"}', r.error),
                       r.finished_at = IF(v_on_expiry = 'fail', v_now, NULL),
                       r.token = GREATEST(idem_token(), v_token + 1), r.lease_until = NULL,
                       r.updated_at = v_now
                 WHERE r.scope = v_scope AND r.idem_key = v_key AND r.created_on = v_day
                   AND r.token = v_token;
            UNTIL ROW_COUNT() = 1 END REPEAT;
            SET v_settled = v_settled + 1, v_released = v_released + (v_on_expiry = 'retry'),
                v_unknown = v_unknown + (v_on_expiry = 'unknown'),
                v_failed = v_failed + (v_on_expiry = 'fail');
        END LOOP;
        CLOSE v_expired;
        COMMIT;
        SET v_batches = v_batches + 1, v_more = v_read = v_batch;
        IF NOT v_more OR v_batches = 20 THEN
            LEAVE batches;
        END IF;
        IF v_settled = 0 THEN -- all in other hands: not the same ones again
            SET v_from = v_from + INTERVAL 1 MICROSECOND;
        END IF;
        SELECT SLEEP(0.005) INTO v_slept;
    END LOOP;
    SET v_more = v_more AND v_released + v_unknown + v_failed > 0,
        v_outcome = JSON_OBJECT('released', v_released + 0, 'unknown', v_unknown + 0, 'failed', v_failed + 0,
                                'skipped', v_skipped + 0, 'more', v_more + 0);
    CALL idem._task_end('reap', v_outcome, NULL, NULL);
    SELECT v_released AS released, v_unknown AS unknown, v_failed AS failed, v_skipped AS skipped,
           v_more AS more;
END$$
DELIMITER ;
