-- The claim protocol, the one place where it is decided who carries out an action.
--
-- Insert first. The insert takes the key or fails at once; it never waits, so there is no queue of
-- waiters to deadlock when a holder rolls back, and two different keys never block each other (a
-- locking read before the insert would). The table looks at the other days itself (record_look).
--   nothing in the way          -> ours, first attempt
--   1205, somebody holds the key uncommitted -> IN_PROGRESS; if midnight passed since the day was read
--                                  the lock may belong to a look at yesterday, so once more with today
--   1062, a committed row       -> the duplicate: read it with a locking read (the snapshot may be
--                                  older than the row) and judge biz_type, payload, state, lease
--   the row has gone meanwhile  -> its transaction rolled back or it was forgotten: once more
-- A lapsed lease or a released row is taken over by an UPDATE that names the old token, again without
-- waiting; then the token is read back, because ROW_COUNT() follows a client's flag.
--
-- Every statement here is complete in itself, so the procedure needs no transaction of its own and has
-- no transaction control: inside a transaction the claim lives and dies with it, in autocommit the
-- insert (with its look) or the take-over is the commit. There is no handler for anything but the
-- errors named above: 1213 and 1020 (the transaction is gone), kills and everything unforeseen go to
-- the caller as they are. In triggers and functions the server lets no handler catch 1205.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._claim(
    IN in_routine VARCHAR(16),
    IN in_scope LONGBLOB,
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB,
    IN in_wait_ms BIGINT UNSIGNED,
    OUT out_state VARCHAR(16),
    OUT out_token BIGINT UNSIGNED,
    OUT out_attempt INT UNSIGNED,
    OUT out_result LONGTEXT CHARACTER SET utf8mb4,
    OUT out_error LONGTEXT CHARACTER SET utf8mb4,
    OUT out_checkpoint LONGTEXT CHARACTER SET utf8mb4,
    OUT out_first_seen DATETIME(6),
    OUT out_finished_at DATETIME(6),
    OUT out_retry_after_ms BIGINT UNSIGNED,
    OUT out_owner VARCHAR(384) CHARACTER SET utf8mb4,
    OUT out_owner_since DATETIME(6),
    OUT out_observed VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: decides a claim. in_scope empty: a claim; else the consumer of an inbox record, which is done
at once. The doors say states and errors.
'
main: BEGIN
    DECLARE v_day DATE DEFAULT idem_today();
    DECLARE v_row_day DATE DEFAULT NULL;
    DECLARE v_other_day VARCHAR(64) DEFAULT NULL;
    DECLARE v_now DATETIME(6);
    DECLARE v_hash BINARY(32) DEFAULT NULL;
    DECLARE v_has_day, v_require_payload, v_observe BOOLEAN;
    DECLARE v_lease_seconds, v_limit INT UNSIGNED;
    DECLARE v_on_expiry VARCHAR(8);
    DECLARE v_met VARCHAR(8) DEFAULT NULL;
    DECLARE v_tries, v_waited_ms INT DEFAULT 0;
    DECLARE v_refusal VARCHAR(16) DEFAULT NULL;
    DECLARE v_text VARCHAR(512);
    DECLARE v_biz_type VARBINARY(64);
    DECLARE v_status TINYINT UNSIGNED;
    DECLARE v_token BIGINT UNSIGNED;
    DECLARE v_new_token BIGINT UNSIGNED;
    DECLARE v_payload_hash BINARY(32);
    DECLARE v_lease_until, v_updated_at DATETIME(6);
    DECLARE v_owner_conn, v_owner_epoch BIGINT UNSIGNED;

    CALL idem._admit(in_routine, in_biz_type, in_key, v_lease_seconds, v_on_expiry, v_limit,
                     v_require_payload, v_observe);
    IF in_payload IS NOT NULL THEN
        SET v_hash = idem_payload_hash(in_payload);
    ELSEIF v_require_payload THEN
        SET v_text = CONCAT('idem.', in_routine,
                            ': payload is NULL and the policy of this biz_type demands one');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;

    SET in_wait_ms = COALESCE(in_wait_ms, idem_setting('wait_ms')),
        v_has_day = EXISTS (SELECT 1 FROM idem.live_day l WHERE l.day = v_day);
    IF in_wait_ms > 60000 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem: wait_ms must be from 0 to 60000';
    END IF;

    waiting: LOOP
        try: LOOP
            SET v_tries = v_tries + 1, v_met = NULL, v_row_day = NULL, v_token = idem_token(),
                v_now = TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
            IF NOT v_has_day THEN
                SET v_refusal = idem_count('NOT_READY'),
                    v_text = CONCAT('idem: no partition for ', v_day, ' (UTC); CALL idem.ensure_partitions()');
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
            END IF;
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1062
                BEGIN
                    GET DIAGNOSTICS CONDITION 1 v_other_day = COLUMN_NAME;
                    SET v_met = 'row',
                        v_row_day = IF(v_other_day = '', v_day, v_other_day);
                END;
                DECLARE CONTINUE HANDLER FOR 1205
                BEGIN
                    IF @@innodb_rollback_on_timeout THEN
                        RESIGNAL;
                    END IF;
                    SET v_met = 'lock';
                END;
                DECLARE CONTINUE HANDLER FOR 1526 SET v_met = 'no day';
                SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                    INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,
                                             owner_conn, owner_epoch, owner_account, payload_hash,
                                             lease_until, created_at, updated_at, finished_at)
                    VALUES (in_scope, in_key, v_day, in_biz_type, in_scope <> '', 1, v_token,
                            CONNECTION_ID(), idem_epoch(), USER(), v_hash,
                            IF(in_scope = '', v_now + INTERVAL v_lease_seconds SECOND, NULL), v_now, v_now,
                            IF(in_scope = '', NULL, v_now));
            END;

            IF v_met IS NULL THEN
                SET out_state = idem_count(IF(in_scope = '', 'CLAIMED', 'NEW')), out_token = v_token,
                    out_attempt = 1, out_first_seen = v_now;
                LEAVE main;
            END IF;
            IF v_met = 'no day' THEN
                SET v_has_day = FALSE;
                ITERATE try;
            END IF;
            IF v_met = 'lock' THEN
                IF v_day <> idem_today() AND v_tries < 8 THEN
                    SET v_day = idem_today(),
                        v_has_day = EXISTS (SELECT 1 FROM idem.live_day l WHERE l.day = v_day);
                    ITERATE try;
                END IF;
                SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100;
                LEAVE try;
            END IF;

            SET v_status = NULL;
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1205
                BEGIN
                    IF @@innodb_rollback_on_timeout THEN
                        RESIGNAL;
                    END IF;
                    SET v_met = 'lock';
                END;
                SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                    SELECT r.biz_type, r.status, r.attempt, r.token, r.owner_conn, r.owner_epoch,
                           r.owner_account, r.payload_hash, r.result, r.error, r.checkpoint,
                           r.lease_until, r.created_at, r.updated_at, r.finished_at
                      INTO v_biz_type, v_status, out_attempt, v_token, v_owner_conn, v_owner_epoch,
                           out_owner, v_payload_hash, out_result, out_error, out_checkpoint,
                           v_lease_until, out_first_seen, v_updated_at, out_finished_at
                      FROM idem.record r
                     WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = v_row_day
                      LOCK IN SHARE MODE;
            END;
            IF v_met = 'lock' OR (v_status IS NULL AND v_tries >= 8) THEN
                -- Locked: its owner is finishing it. Gone eight times: it is in flux.
                SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100, out_attempt = NULL;
                LEAVE try;
            END IF;
            IF v_status IS NULL THEN
                ITERATE try;
            END IF;

            -- A mismatch wins over every state: a stranger's answer would be a leak.
            IF v_biz_type <> in_biz_type THEN
                SET v_refusal = 'KEY_REUSED';
                LEAVE try;
            END IF;
            IF v_payload_hash <> v_hash THEN
                SET v_refusal = 'PAYLOAD_MISMATCH';
                LEAVE try;
            END IF;
            IF in_scope <> '' THEN
                SET v_refusal = 'DUPLICATE';
                LEAVE try;
            END IF;
            IF v_status IN (1, 2, 3) THEN
                SET v_refusal = ELT(v_status, 'DONE', 'FAILED', 'UNKNOWN');
                LEAVE try;
            END IF;
            IF v_status = 0 AND v_owner_conn = CONNECTION_ID() AND v_owner_epoch = idem_epoch() THEN
                SET out_state = idem_count(IF(out_attempt = 1, 'CLAIMED', 'RECLAIMED')),
                    out_token = v_token, out_owner = NULL;
                LEAVE main;
            END IF;
            IF v_status = 0 AND v_lease_until > v_now THEN
                SET v_refusal = 'IN_PROGRESS', out_owner_since = v_updated_at,
                    out_retry_after_ms = LEAST(1000, GREATEST(1,
                        TIMESTAMPDIFF(MICROSECOND, v_now, v_lease_until) DIV 1000));
                LEAVE try;
            END IF;

            -- Free to take over, or, when its lease ran out, to be settled by policy.
            SET v_new_token = GREATEST(idem_token(), v_token + 1);
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1205
                BEGIN
                    IF @@innodb_rollback_on_timeout THEN
                        RESIGNAL;
                    END IF;
                    SET v_met = 'lock';
                END;
                IF v_status = 4 OR v_on_expiry = 'retry' THEN
                    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                        UPDATE idem.record r
                           SET r.status = 0, r.attempt = r.attempt + 1, r.token = v_new_token,
                               r.owner_conn = CONNECTION_ID(), r.owner_epoch = idem_epoch(),
                               r.owner_account = USER(),
                               r.payload_hash = COALESCE(r.payload_hash, v_hash),
                               r.lease_until = v_now + INTERVAL v_lease_seconds SECOND,
                               r.updated_at = v_now
                         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = v_row_day
                           AND r.token = v_token AND r.status = v_status;
                ELSE
                    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                        UPDATE idem.record r
                           SET r.status = IF(v_on_expiry = 'unknown', 3, 2), r.token = v_new_token,
                               r.error = IF(v_on_expiry = 'unknown', r.error, '{"reason":"lease expired"}'),
                               r.lease_until = NULL, r.updated_at = v_now,
                               r.finished_at = IF(v_on_expiry = 'unknown', NULL, v_now)
                         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = v_row_day
                           AND r.token = v_token AND r.status = v_status;
                END IF;
                IF v_met = 'row' THEN
                    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                        SELECT r.token, r.status, r.attempt, r.error, r.finished_at
                          INTO v_token, v_status, out_attempt, out_error, out_finished_at
                          FROM idem.record r
                         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = v_row_day
                          LOCK IN SHARE MODE;
                END IF;
            END;
            IF v_met = 'lock' OR v_token <> v_new_token THEN
                SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100, out_owner = NULL;
            ELSEIF v_status = 0 THEN
                SET out_state = idem_count('RECLAIMED'), out_token = v_token, out_owner = NULL;
                LEAVE main;
            ELSE
                SET v_refusal = ELT(v_status, 'DONE', 'FAILED', 'UNKNOWN');
            END IF;
            LEAVE try;
        END LOOP;

        -- Wait with nothing in hand. A holder with a committed lease is not waited for inside a
        -- transaction: the duplicate's row lock would keep that very holder from finishing.
        IF v_refusal <> 'IN_PROGRESS' OR v_waited_ms >= in_wait_ms
           OR (@@in_transaction AND out_owner_since IS NOT NULL) THEN
            LEAVE waiting;
        END IF;
        DO SLEEP(0.02);
        SET v_waited_ms = v_waited_ms + 20, v_tries = 0, v_refusal = NULL, v_day = idem_today(),
            v_has_day = EXISTS (SELECT 1 FROM idem.live_day l WHERE l.day = v_day),
            out_owner = NULL, out_owner_since = NULL, out_retry_after_ms = NULL;
    END LOOP;

    SET v_refusal = idem_count(v_refusal);
    IF v_observe THEN
        -- Counted, and nothing refused: the caller goes on as if idem were not there.
        SET out_state = IF(in_scope = '', 'CLAIMED', 'NEW'), out_observed = v_refusal,
            out_token = NULL, out_attempt = NULL, out_result = NULL, out_error = NULL,
            out_checkpoint = NULL, out_finished_at = NULL, out_retry_after_ms = NULL,
            out_owner = NULL, out_owner_since = NULL;
        LEAVE main;
    END IF;
    IF v_refusal = 'KEY_REUSED' THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52002,
            MESSAGE_TEXT = 'idem: the key is held by another biz_type';
    ELSEIF v_refusal = 'PAYLOAD_MISMATCH' THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52003,
            MESSAGE_TEXT = 'idem: the key was used with a different payload';
    END IF;
    SET out_state = v_refusal;
    -- Nothing that the state does not carry (SPEC: a verdict and what it carries).
    IF v_refusal <> 'IN_PROGRESS' THEN
        SET out_owner = NULL;
    END IF;
    IF v_refusal <> 'DONE' THEN
        SET out_result = NULL;
    END IF;
    IF v_refusal <> 'FAILED' THEN
        SET out_error = NULL;
    END IF;
    IF v_refusal NOT IN ('UNKNOWN') THEN
        SET out_checkpoint = NULL;
    END IF;
END$$
DELIMITER ;
