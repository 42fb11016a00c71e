-- The UPDATE of _settle did not meet the caller's record: where is it, or why is the caller not its owner?
--
-- Elsewhere: the guess of the day misses for a claim that was taken over on a later day, and without a
-- token when midnight passed. The record is looked for in all days without locking: created_on never
-- changes, so the snapshot is good enough to find it. A session's own claim is always in its snapshot; a
-- token may have come from another session after it.
-- Locked: by a duplicate that asked inside a transaction, or by a claim of another day that is about to
-- meet the owner's row and go back. No verdict: tried again for innodb_lock_wait_timeout, then 1205.
-- Neither: the current row decides, and says why; nobody is refused for less than having seen it (MariaDB
-- 11 may answer that the UPDATE changed nothing when a KILL hits it, and go on). A session without a token
-- that sees no claim of its own has none; it need not wait to be told so.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._settle_again(
    IN in_routine VARCHAR(16),
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_json LONGBLOB,
    IN in_locked BOOLEAN,
    INOUT io_plan VARBINARY(63),
    INOUT io_spent_ms INT
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: after a miss, makes io_plan name the day for the next try, or NULL when the call has been done
here. io_spent_ms: waited so far. Errors: 52002, 52004.
'
main: BEGIN
    DECLARE v_found, v_day DATE DEFAULT NULL;
    DECLARE v_status TINYINT UNSIGNED DEFAULT NULL;
    DECLARE v_biz_type VARBINARY(64);
    DECLARE v_token BIGINT UNSIGNED;
    DECLARE v_owned BOOLEAN DEFAULT FALSE;
    DECLARE v_text VARCHAR(512);

    SELECT r.created_on INTO v_found FROM idem.record r
     WHERE r.scope = '' AND r.idem_key = in_key AND r.status = 0
       AND IF(in_token IS NULL, r.owner_conn = CONNECTION_ID() AND r.owner_epoch = idem_epoch(),
              r.token = in_token)
     LIMIT 1;
    IF v_found <> SUBSTRING(io_plan, 1, 10) THEN
        SET io_plan = CONCAT(v_found, SUBSTRING(io_plan, 11));
        LEAVE main;
    END IF;
    IF NOT in_locked OR (v_found IS NULL AND in_token IS NULL) THEN
        BEGIN
            -- Held: by a claim or take-over that is not committed.
            -- @include core/held.part.sql
            --   ANSWER=v_status = 0, in_locked = TRUE
            SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                SELECT r.biz_type, r.status, r.token, r.created_on,
                       r.biz_type = in_biz_type
                       AND IF(in_token IS NULL,
                              r.owner_conn = CONNECTION_ID() AND r.owner_epoch = idem_epoch(),
                              r.token = in_token)
                  INTO v_biz_type, v_status, v_token, v_day, v_owned
                  FROM JSON_TABLE(COALESCE(idem_look_days('', in_key, '1970-01-01'), '[]'), '$[*]'
                                  COLUMNS (day DATE PATH '$')) d
                  STRAIGHT_JOIN idem.record r
                 WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = d.day
                 LIMIT 1
                  LOCK IN SHARE MODE;
        END;
        IF NOT in_locked AND v_status = 0 AND v_owned THEN -- the caller's after all
            SET io_plan = CONCAT(v_day, SUBSTRING(io_plan, 11));
            LEAVE main;
        END IF;
    END IF;
    IF in_locked AND (v_found IS NOT NULL OR in_token IS NOT NULL) THEN
        IF io_spent_ms >= @@innodb_lock_wait_timeout * 1000 THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205,
                MESSAGE_TEXT = 'Lock wait timeout exceeded; try restarting transaction';
        END IF;
        SELECT SLEEP(0.02) INTO v_text;
        SET io_spent_ms = io_spent_ms + 20;
        LEAVE main;
    END IF;

    IF v_status IS NULL AND in_routine = 'fail' THEN
        -- After a rollback there is no record to fail: make one that keeps the error.
        CALL idem._fail_new(in_biz_type, in_key, SUBSTRING(io_plan, 63, 1),
                            CONVERT(COALESCE(in_json, 'null') USING utf8mb4),
                            SUBSTRING(io_plan, 11, 26), v_status);
        IF v_status IS NULL THEN
            SET v_text = idem_ack(ELT(SUBSTRING(io_plan, 63, 1), 'DONE', 'FAILED', '', 'RELEASED')),
                io_plan = NULL;
            LEAVE main;
        END IF;
    END IF;
    IF v_biz_type <> in_biz_type THEN
        SET v_text = idem_count('KEY_REUSED');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52002,
            MESSAGE_TEXT = 'idem: the key is held by another biz_type';
    END IF;
    SET v_text = idem_count('NOT_OWNER');
    IF idem_policy(in_biz_type, 'observe') THEN
        SET v_text = idem_ack('OBSERVED'), io_plan = NULL;
        LEAVE main;
    END IF;
    SET v_text = CONCAT('idem.', in_routine, ': ',
        CASE WHEN v_status IS NULL THEN 'there is no claim on this key (never made, or rolled back)'
             WHEN v_status = 0 AND v_token > in_token THEN 'the claim was taken over with a later token'
             WHEN v_status = 0 THEN 'another session holds the claim'
             ELSE CONCAT('the claim is ', ELT(v_status, 'finished', 'failed', 'unknown: an operator decides',
                                              'released')) END);
    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52004, MESSAGE_TEXT = v_text;
END$$
DELIMITER ;
