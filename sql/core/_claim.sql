-- The claim protocol, the one place where it is decided who carries out an action.
--
-- Insert first. The insert takes the key or fails at once; it never waits, so there is no queue of
-- waiters to deadlock when a holder rolls back, and two different keys never block each other (a
-- locking read before the insert would). _acquire() looks at the other days in the same statement; when
-- there is none to look at, the bare insert says it all.
--   nothing in the way          -> ours, first attempt
--   1205, somebody holds the key uncommitted -> IN_PROGRESS; if midnight passed since the day was read
--                                  the lock may belong to a look at yesterday, so once more with today
--   1062, a committed row       -> the duplicate: read it with a locking read (the snapshot may be
--                                  older than the row) and judge biz_type, payload, state, lease
--   the row has gone meanwhile  -> its transaction rolled back or it was forgotten: once more
-- A lapsed lease or a released row is taken over by an UPDATE that names the old token, again without
-- waiting, and with a look at the other days.
--
-- Every statement here is complete in itself, so the procedure needs no transaction of its own and has
-- no transaction control: inside a transaction the claim lives and dies with it, in autocommit the
-- acquiring statement is the commit. There is no handler for anything but the errors named above: 1213
-- and 1020 (the transaction is gone), kills and everything unforeseen go to the caller as they are. In
-- triggers and functions the server lets no handler catch 1205.
--
-- Plain reads are SELECT ... INTO: the same read inside SET or IF would take row locks. No DO: the server
-- swallows the errors of its expressions.
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
at once. in_wait_ms NULL: idem_wait_ms. The doors say states and errors.
'
main: BEGIN
    DECLARE v_lease_seconds INT UNSIGNED DEFAULT
        idem_admit(in_routine, @@character_set_results, USER(), in_biz_type, in_key,
                   in_payload IS NOT NULL,
                   @@binlog_format = 'STATEMENT' AND @@log_bin AND @@sql_log_bin);
    DECLARE v_hash BINARY(32) DEFAULT idem_payload_hash(in_payload);
    DECLARE v_day DATE;
    DECLARE v_met VARCHAR(64);
    DECLARE v_tries, v_waited_ms INT DEFAULT 0;

    IF in_wait_ms > 60000 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem: wait_ms must be from 0 to 60000';
    END IF;
    again: LOOP
        SET v_met = NULL, v_day = idem_claim_day(), out_token = idem_token(),
            out_first_seen = TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1062 GET DIAGNOSTICS CONDITION 1 v_met = COLUMN_NAME;
            DECLARE CONTINUE HANDLER FOR 1205
            BEGIN
                IF @@innodb_rollback_on_timeout THEN
                    RESIGNAL;
                END IF;
                SET v_met = 'lock';
            END;
            DECLARE CONTINUE HANDLER FOR 1526 SET v_met = 'no day';
            IF idem_look_days(in_scope, in_key, v_day) IS NULL
               AND idem_now_us() MOD 86400000000 < 79200000000 THEN
                SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                    INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt,
                                             token, owner_conn, owner_epoch, owner_account,
                                             payload_hash, lease_until, created_at, updated_at,
                                             finished_at)
                    VALUES (in_scope, in_key, v_day, in_biz_type, in_scope <> '', 1, out_token,
                            CONNECTION_ID(), idem_epoch(), USER(), v_hash,
                            IF(in_scope = '', out_first_seen + INTERVAL v_lease_seconds SECOND, NULL),
                            out_first_seen, out_first_seen, IF(in_scope = '', NULL, out_first_seen));
                IF v_met IS NULL AND idem_claim_day() <> v_day THEN
                    -- Two hours have passed since the line above (later in the day there is always
                    -- tomorrow to look at): take the row back and begin again in the new day.
                    DELETE FROM idem.record
                     WHERE scope = in_scope AND idem_key = in_key AND created_on = v_day
                       AND token = out_token;
                    ITERATE again;
                END IF;
            ELSE
                SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                    SELECT idem._acquire(in_scope, in_key, v_day, in_biz_type, in_scope <> '', NULL,
                                         out_token, v_hash, NULL,
                                         IF(in_scope = '',
                                            out_first_seen + INTERVAL v_lease_seconds SECOND, NULL),
                                         out_first_seen)
                      INTO out_attempt;
            END IF;
        END;
        IF v_met IS NULL THEN
            SET out_state = idem_count(IF(in_scope = '', 'CLAIMED', 'NEW')), out_attempt = 1;
            LEAVE main;
        END IF;

        BEGIN
            DECLARE v_now DATETIME(6) DEFAULT out_first_seen;
            DECLARE v_row_day DATE DEFAULT v_day;
            DECLARE v_refusal VARCHAR(16) DEFAULT NULL;
            DECLARE v_biz_type VARBINARY(64);
            DECLARE v_status TINYINT UNSIGNED DEFAULT NULL;
            DECLARE v_token, v_new_token BIGINT UNSIGNED;
            DECLARE v_payload_hash BINARY(32);
            DECLARE v_lease_until, v_updated_at DATETIME(6);
            DECLARE v_owner_conn, v_owner_epoch BIGINT UNSIGNED;
            DECLARE v_on_expiry TINYINT UNSIGNED;
            DECLARE v_text VARCHAR(128);

            SET v_tries = v_tries + 1, out_token = NULL, out_attempt = NULL, out_first_seen = NULL;
            judge: BEGIN
                DECLARE CONTINUE HANDLER FOR 1062 GET DIAGNOSTICS CONDITION 1 v_met = COLUMN_NAME;
                DECLARE CONTINUE HANDLER FOR 1205
                BEGIN
                    IF @@innodb_rollback_on_timeout THEN
                        RESIGNAL;
                    END IF;
                    SET v_met = 'lock';
                END;

                IF v_met = 'no day' THEN
                    IF idem_claim_day() <> v_day AND v_tries < 8 THEN
                        ITERATE again;
                    END IF;
                    SET v_text = idem_count('NOT_READY'),
                        v_text = CONCAT('idem: no partition for ', v_day,
                                        ' (UTC); CALL idem.ensure_partitions()');
                    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
                ELSEIF v_met NOT IN ('', 'lock') THEN
                    SET v_row_day = v_met, v_met = ''; -- the other day that holds the key
                END IF;
                IF v_met = 'lock' THEN
                    -- Perhaps by a claim that is about to meet the record in another day, maybe this
                    -- session's own, and goes back then: that record is the duplicate. No plain read:
                    -- it would open the caller's snapshot.
                    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                        SELECT r.created_on, '' INTO v_row_day, v_met
                          FROM JSON_TABLE(COALESCE(idem_look_days(in_scope, in_key, v_day), '[]'), '$[*]'
                                          COLUMNS (day DATE PATH '$')) d
                          STRAIGHT_JOIN idem.record r
                         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = d.day
                         LIMIT 1
                          LOCK IN SHARE MODE;
                END IF;
                IF v_met = 'lock' THEN
                    IF v_day <> idem_today() AND v_tries < 8 THEN
                        ITERATE again;
                    END IF;
                    SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100;
                    LEAVE judge;
                END IF;

                reading: LOOP
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
                    IF v_status IS NULL AND v_met <> 'lock' AND v_tries < 8 THEN
                        ITERATE again;
                    END IF;
                    IF v_status IS NULL THEN
                        -- Locked: its owner is finishing it. Or gone eight times: it is in flux.
                        SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100;
                        LEAVE judge;
                    END IF;

                    -- A mismatch wins over every state: a stranger's answer would be a leak.
                    IF v_biz_type <> in_biz_type THEN
                        SET v_refusal = 'KEY_REUSED';
                        LEAVE judge;
                    END IF;
                    IF v_payload_hash <> v_hash THEN
                        SET v_refusal = 'PAYLOAD_MISMATCH';
                        LEAVE judge;
                    END IF;
                    IF in_scope <> '' THEN
                        SET v_refusal = 'DUPLICATE';
                        LEAVE judge;
                    END IF;
                    IF v_status IN (1, 2, 3) THEN
                        SET v_refusal = ELT(v_status, 'DONE', 'FAILED', 'UNKNOWN');
                        LEAVE judge;
                    END IF;
                    IF v_status = 0 AND v_owner_conn = CONNECTION_ID()
                       AND v_owner_epoch = idem_epoch() THEN
                        SET out_state = idem_count(IF(out_attempt = 1, 'CLAIMED', 'RECLAIMED')),
                            out_token = v_token, out_owner = NULL;
                        LEAVE main;
                    END IF;
                    IF v_status = 0 AND v_lease_until > v_now THEN
                        SET v_refusal = 'IN_PROGRESS', out_owner_since = v_updated_at,
                            out_retry_after_ms = LEAST(1000, GREATEST(1,
                                TIMESTAMPDIFF(MICROSECOND, v_now, v_lease_until) DIV 1000));
                        LEAVE judge;
                    END IF;

                    -- Free to take over, or, when its lease ran out, to be settled by policy.
                    SET v_new_token = GREATEST(idem_token(), v_token + 1),
                        v_on_expiry = IF(v_status = 4, 0, idem_policy(in_biz_type, 'on_expiry'));
                    IF v_on_expiry = 0 THEN
                        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                            SELECT idem._acquire(in_scope, in_key, v_row_day, in_biz_type, v_status,
                                                 v_token, v_new_token, v_hash, NULL,
                                                 v_now + INTERVAL v_lease_seconds SECOND, v_now)
                              INTO v_status;
                        IF v_met = '' AND v_status THEN
                            SET out_state = idem_count('RECLAIMED'), out_token = v_new_token,
                                out_attempt = out_attempt + 1, out_owner = NULL;
                            LEAVE main;
                        END IF;
                        IF v_met NOT IN ('', 'lock') AND v_tries < 8 THEN
                            SET v_row_day = v_met, v_met = '', v_status = NULL, v_tries = v_tries + 1;
                            ITERATE reading;
                        END IF;
                        SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100, out_owner = NULL;
                        LEAVE judge;
                    END IF;
                    IF in_routine <> 'begin' AND @@in_transaction THEN
                        -- FAILED and UNKNOWN are told to the world, so they must not go back with the
                        -- caller's transaction: reap() or a claim that commits decides.
                        SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 1000, out_owner = NULL;
                        LEAVE judge;
                    END IF;
                    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                        UPDATE idem.record r
                           SET r.status = IF(v_on_expiry = 1, 3, 2), r.token = v_new_token,
                               r.error = IF(v_on_expiry = 1, r.error, '{"reason":"lease expired"}'),
                               r.lease_until = NULL, r.updated_at = v_now,
                               r.finished_at = IF(v_on_expiry = 1, NULL, v_now)
                         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = v_row_day
                           AND r.token = v_token AND r.status = 0;
                    -- Whether this session settled it or another one did, the next round reads how.
                    IF v_met <> 'lock' AND v_tries < 8 THEN
                        ITERATE again;
                    END IF;
                    SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100, out_owner = NULL;
                    LEAVE judge;
                END LOOP;
            END;

            -- Wait with nothing in hand. A holder with a committed lease is not waited for inside a
            -- transaction: the duplicate's row lock would keep that very holder from finishing.
            IF v_refusal = 'IN_PROGRESS' THEN
                SET in_wait_ms = COALESCE(in_wait_ms, idem_setting('wait_ms'));
                IF v_waited_ms < in_wait_ms AND NOT (@@in_transaction AND out_owner_since IS NOT NULL) THEN
                    SELECT SLEEP(0.02) INTO v_tries;
                    SET v_waited_ms = v_waited_ms + 20, v_tries = 0, out_owner = NULL,
                        out_owner_since = NULL, out_retry_after_ms = NULL;
                    ITERATE again;
                END IF;
            END IF;

            SET v_refusal = idem_count(v_refusal);
            IF idem_policy(in_biz_type, 'observe') THEN
                -- Counted, and nothing refused: the caller goes on as if idem were not there.
                SET out_observed = v_refusal, v_refusal = IF(in_scope = '', 'CLAIMED', 'NEW'),
                    out_attempt = NULL, out_finished_at = NULL, out_retry_after_ms = NULL,
                    out_owner_since = NULL;
            ELSEIF v_refusal = 'KEY_REUSED' THEN
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52002,
                    MESSAGE_TEXT = 'idem: the key is held by another biz_type';
            ELSEIF v_refusal = 'PAYLOAD_MISMATCH' THEN
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52003,
                    MESSAGE_TEXT = 'idem: the key was used with a different payload';
            END IF;
            -- A state carries what belongs to it and nothing else.
            SET out_state = v_refusal,
                out_owner = IF(v_refusal = 'IN_PROGRESS', out_owner, NULL),
                out_result = IF(v_refusal = 'DONE', out_result, NULL),
                out_error = IF(v_refusal = 'FAILED', out_error, NULL),
                out_checkpoint = IF(v_refusal = 'UNKNOWN', out_checkpoint, NULL);
            LEAVE main;
        END;
    END LOOP;
END$$
DELIMITER ;
