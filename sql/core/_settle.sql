-- What an owner does with its claim: finish, fail, release, renew, checkpoint. All are one UPDATE that
-- names key, day, biz_type, state and owner, so a stale worker's call changes nothing. The owner is
-- whoever has the token; without a token it is the session that claimed.
--
-- The day is guessed first: a token is the microseconds of its acquisition, so it names the day of a
-- first attempt. When the guess misses (taken over on a later day; no token and midnight passed) the
-- owner's record is looked for in all days without locking: created_on never changes, so the snapshot is
-- good enough to find it. Only what judges reads or writes the current row, and nobody is refused for
-- less than having seen it:
--   a lock in the way          -> no verdict, also not in another day: a claim that is about to meet the
--                                 owner's row holds its own there for a moment. Tried again
--   the UPDATE changed nothing -> no verdict either: MariaDB 11 may answer so when a KILL hits it, and go on
-- A session without a token that sees no claim of its own has none; it need not wait to be told so.
--
-- updated_at always moves, so the UPDATE never matches without changing and ROW_COUNT() means the same
-- under every client flag.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._settle(
    IN in_routine VARCHAR(16),
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_json LONGBLOB,
    IN in_retryable TINYINT,
    IN in_lease_seconds BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: changes a claim that the caller owns. See the doors finish, fail, release, renew and checkpoint.'
main: BEGIN
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
    DECLARE v_day DATE DEFAULT NULL;
    DECLARE v_json LONGTEXT CHARACTER SET utf8mb4 DEFAULT NULL;
    DECLARE v_lease_seconds BIGINT UNSIGNED DEFAULT
        idem_admit(in_routine, @@character_set_results, USER(), in_biz_type, in_key, TRUE,
                   @@binlog_format = 'STATEMENT' AND @@log_bin AND @@sql_log_bin);
    DECLARE v_limit INT UNSIGNED;
    DECLARE v_to TINYINT UNSIGNED;
    DECLARE v_locked, v_owned BOOLEAN DEFAULT FALSE;
    DECLARE v_waited_ms BIGINT UNSIGNED DEFAULT 0;
    DECLARE v_status TINYINT UNSIGNED DEFAULT NULL;
    DECLARE v_biz_type VARBINARY(64) DEFAULT NULL;
    DECLARE v_token BIGINT UNSIGNED DEFAULT NULL;
    DECLARE v_found DATE;
    DECLARE v_text VARCHAR(512);
    DECLARE v_counted VARCHAR(16);

    IF in_routine IN ('finish', 'fail', 'checkpoint') THEN
        SET in_json = COALESCE(in_json, 'null'),
            v_limit = idem_policy(in_biz_type, 'max_result_bytes');
        IF LENGTH(in_json) > v_limit THEN
            SET v_text = CONCAT('idem.', in_routine, ': ', LENGTH(in_json), ' bytes, the limit is ', v_limit);
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52008, MESSAGE_TEXT = v_text;
        END IF;
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1300 SET v_json = NULL; -- not UTF-8: refused below
            SET v_json = CONVERT(in_json USING utf8mb4);
        END;
        IF NOT (CAST(v_json AS BINARY) <=> in_json) OR NOT JSON_VALID(v_json) THEN
            SET v_text = CONCAT('idem.', in_routine, ': ',
                                ELT(FIELD(in_routine, 'finish', 'fail', 'checkpoint'),
                                    'result', 'error', 'data'),
                                ' is not JSON in UTF-8 (at most 31 levels deep)');
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;
    END IF;
    IF in_routine = 'renew' THEN
        SET v_lease_seconds = COALESCE(in_lease_seconds, v_lease_seconds);
        IF v_lease_seconds NOT BETWEEN 1 AND 604800 THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                MESSAGE_TEXT = 'idem.renew: lease_seconds must be from 1 to 604800';
        END IF;
    END IF;
    SET v_to = CASE in_routine WHEN 'finish' THEN 1
                               WHEN 'fail' THEN IF(COALESCE(in_retryable, 0), 4, 2)
                               WHEN 'release' THEN 4
                               ELSE 0 END,
        v_day = IF(in_token IS NULL, idem_today(),
                   DATE(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL in_token MICROSECOND));

    attempts: LOOP
        SET v_locked = FALSE, v_owned = FALSE;
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1205
            BEGIN
                IF @@innodb_rollback_on_timeout THEN
                    RESIGNAL;
                END IF;
                SET v_locked = TRUE;
            END;
            SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                UPDATE idem.record r
                   SET r.status = v_to,
                       r.result = IF(in_routine = 'finish', v_json, r.result),
                       r.error = CASE in_routine WHEN 'fail' THEN v_json
                                                 WHEN 'finish' THEN NULL
                                                 ELSE r.error END,
                       r.checkpoint = IF(in_routine = 'checkpoint', v_json, r.checkpoint),
                       r.lease_until = CASE WHEN v_to <> 0 THEN NULL
                                            WHEN in_routine = 'renew'
                                            THEN v_now + INTERVAL v_lease_seconds SECOND
                                            ELSE r.lease_until END,
                       r.finished_at = IF(v_to IN (1, 2), v_now, NULL),
                       r.updated_at = GREATEST(v_now, r.updated_at + INTERVAL 1 MICROSECOND)
                 WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = v_day
                   AND r.biz_type = in_biz_type AND r.status = 0
                   AND (r.token = in_token OR (in_token IS NULL AND r.owner_conn = CONNECTION_ID()
                                               AND r.owner_epoch = idem_epoch()));
            SET v_owned = NOT v_locked AND ROW_COUNT() = 1;
        END;
        IF v_owned THEN
            SET v_token = idem_ack(CASE in_routine WHEN 'renew' THEN 'RENEWED'
                                        WHEN 'checkpoint' THEN 'CHECKPOINTED'
                                        ELSE ELT(v_to, 'DONE', 'FAILED', '', 'RELEASED') END);
            LEAVE main;
        END IF;
        SET v_found = NULL;
        SELECT r.created_on INTO v_found FROM idem.record r
         WHERE r.scope = '' AND r.idem_key = in_key AND r.status = 0
           AND (r.token = in_token OR (in_token IS NULL AND r.owner_conn = CONNECTION_ID()
                                       AND r.owner_epoch = idem_epoch()))
         LIMIT 1;
        IF v_found <> v_day THEN
            SET v_day = v_found;
            ITERATE attempts;
        END IF;
        IF NOT v_locked OR (v_found IS NULL AND in_token IS NULL) THEN
            -- Not the owner as far as this snapshot goes. The current row decides, and says why.
            SET v_status = NULL;
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1205
                BEGIN
                    IF @@innodb_rollback_on_timeout THEN
                        RESIGNAL;
                    END IF;
                    SET v_locked = TRUE, v_status = 0; -- another session's, not committed
                END;
                SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                    SELECT r.biz_type, r.status, r.token, r.created_on,
                           r.biz_type = in_biz_type
                           AND (r.token = in_token OR (in_token IS NULL AND r.owner_conn = CONNECTION_ID()
                                                       AND r.owner_epoch = idem_epoch()))
                      INTO v_biz_type, v_status, v_token, v_day, v_owned
                      FROM JSON_TABLE(COALESCE(idem_look_days('', in_key, '1970-01-01'), '[]'), '$[*]'
                                      COLUMNS (day DATE PATH '$')) d
                      STRAIGHT_JOIN idem.record r
                     WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = d.day
                     LIMIT 1
                      LOCK IN SHARE MODE;
            END;
            IF NOT v_locked AND v_status = 0 AND v_owned THEN -- the caller's after all
                ITERATE attempts;
            END IF;
            IF NOT v_locked OR (v_found IS NULL AND in_token IS NULL) THEN
                LEAVE attempts;
            END IF;
        END IF;

        -- Locked: by a duplicate that asked inside a transaction, or by a claim of another day on its
        -- way back. Tried again for innodb_lock_wait_timeout.
        IF v_waited_ms >= @@innodb_lock_wait_timeout * 1000 THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205,
                MESSAGE_TEXT = 'Lock wait timeout exceeded; try restarting transaction';
        END IF;
        SELECT SLEEP(0.02) INTO v_counted;
        SET v_waited_ms = v_waited_ms + 20;
    END LOOP;

    IF v_status IS NULL AND in_routine = 'fail' THEN
        -- After a rollback there is no record to fail: make one that keeps the error.
        CALL idem._fail_new(in_biz_type, in_key, v_to, v_json, v_now, v_status);
        IF v_status IS NULL THEN
            SET v_token = idem_ack(ELT(v_to, 'DONE', 'FAILED', '', 'RELEASED'));
            LEAVE main;
        END IF;
    END IF;
    IF v_biz_type <> in_biz_type THEN
        SET v_counted = idem_count('KEY_REUSED');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52002,
            MESSAGE_TEXT = 'idem: the key is held by another biz_type';
    END IF;
    SET v_counted = idem_count('NOT_OWNER');
    IF idem_policy(in_biz_type, 'observe') THEN
        SET v_token = idem_ack('OBSERVED');
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
