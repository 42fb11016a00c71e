-- The second half of the claim protocol: something stood in the way of take.part.sql.
--   a day                      -> the record of the key: read it with a locking read (the snapshot may
--                                 be older than the row) and judge biz_type, payload, state, lease
--   look and a day             -> likely a replay, but look.part.sql did not find it so: take now
--   lock and a day             -> somebody holds the key uncommitted: IN_PROGRESS, unless the record is
--                                 in another day; if midnight passed since that day was read, the lock
--                                 may belong to a look at yesterday: take once more
--   none and a day             -> no partition: 52005, or a day that is over: take once more
--   the record has gone meanwhile -> its transaction rolled back or it was forgotten: take once more
-- A lapsed lease or a released row is taken over by an UPDATE that names the old token, without
-- waiting, and with a look at the other days. Transactions and errors: see take.part.sql.
--
-- Plain reads are SELECT ... INTO: the same read inside SET or IF would take row locks. No DO: the server
-- swallows the errors of its expressions.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._judge(
    IN in_routine VARCHAR(16),
    IN in_scope LONGBLOB,
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB,
    IN in_wait_ms BIGINT UNSIGNED,
    IN in_met VARCHAR(64),
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
Private: decides a claim that met in_met on its way. in_wait_ms NULL: idem_wait_ms.
The doors say states and errors.
'
main: BEGIN
    DECLARE v_hash BINARY(32) DEFAULT idem_payload_hash(in_payload);
    DECLARE v_refusal VARCHAR(16) DEFAULT NULL;
    DECLARE v_tries, v_waited_ms INT DEFAULT 0;
    DECLARE v_now DATETIME(6);
    DECLARE v_status TINYINT UNSIGNED;
    DECLARE v_biz_type VARBINARY(64);
    DECLARE v_token, v_new_token BIGINT UNSIGNED;
    DECLARE v_payload_hash BINARY(32);
    DECLARE v_lease_until, v_updated_at DATETIME(6);
    DECLARE v_owner_conn, v_owner_epoch BIGINT UNSIGNED;
    DECLARE v_on_expiry TINYINT UNSIGNED;
    DECLARE v_row_day DATE;
    DECLARE v_bound BOOLEAN DEFAULT @@in_transaction;
    DECLARE v_look LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(128);

    -- Without conditions GET DIAGNOSTICS, here and in take.part.sql, says nothing and fails in silence.
    IF @@max_error_count = 0 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006,
            MESSAGE_TEXT = 'idem: max_error_count is 0, which hides where the key is; SET max_error_count = 64';
    END IF;
    -- Bound: what is written may still go back, and what is locked stays locked, after this call. With the
    -- caller's transaction, or with the statement that called a trigger or function in autocommit; there
    -- the server refuses this SET (of a value to itself).
    IF NOT v_bound THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1930 SET v_bound = TRUE;
            SET SESSION skip_replication = @@SESSION.skip_replication;
        END;
    END IF;

    again: LOOP
        SET v_tries = v_tries + 1, v_status = NULL, v_row_day = NULL,
            v_now = TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
        judge: BEGIN
            DECLARE CONTINUE HANDLER FOR 1062 GET DIAGNOSTICS CONDITION 1 in_met = COLUMN_NAME;
            -- @include core/held.part.sql
            --   ANSWER=in_met = 'lock'

            IF in_met LIKE 'look %' THEN
                LEAVE judge;
            ELSEIF in_met LIKE 'lock %' THEN
                -- Perhaps by a claim that is about to meet the record in another day, maybe this
                -- session's own, and goes back then: that record is the duplicate. No plain read:
                -- it would open the caller's snapshot.
                SET v_look = idem_look_days(in_scope, in_key, SUBSTRING(in_met, 6));
                IF v_look IS NOT NULL THEN
                    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                        SELECT r.created_on INTO v_row_day
                          FROM JSON_TABLE(v_look, '$[*]' COLUMNS (day DATE PATH '$')) d
                          STRAIGHT_JOIN idem.record r
                         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = d.day
                         LIMIT 1
                          LOCK IN SHARE MODE;
                END IF;
                IF v_row_day IS NULL AND in_met <> 'lock' AND idem_claim_day() <> SUBSTRING(in_met, 6)
                   AND v_tries < 8 THEN
                    LEAVE judge;
                END IF;
                SET in_met = IF(v_row_day IS NULL, 'lock', '');
            ELSEIF in_met LIKE 'none %' THEN
                IF idem_claim_day() <> SUBSTRING(in_met, 6) AND v_tries < 8 THEN
                    LEAVE judge;
                END IF;
                SET v_text = idem_count('NOT_READY'),
                    v_text = CONCAT('idem: no partition for ', SUBSTRING(in_met, 6),
                                    ' (UTC); CALL idem.ensure_partitions()');
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
            ELSE
                SET v_row_day = in_met, in_met = '';
            END IF;
            IF in_met = '' THEN
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
                IF v_status IS NULL AND in_met = '' AND v_tries < 8 THEN
                    LEAVE judge;
                END IF;
            END IF;
            IF v_status IS NULL THEN
                -- Held by a transaction that is not over, or gone eight times: it is in flux.
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
                                         v_now + INTERVAL idem_policy(in_biz_type, 'lease_seconds')
                                                 SECOND, v_now)
                      INTO v_status;
                IF in_met = '' AND v_status THEN
                    SET out_state = idem_count('RECLAIMED'), out_token = v_new_token,
                        out_attempt = out_attempt + 1, out_owner = NULL;
                    LEAVE main;
                END IF;
                IF in_met NOT IN ('', 'lock') AND v_tries < 8 THEN
                    ITERATE again; -- the key is in that day as well
                END IF;
                SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100, out_owner = NULL;
                LEAVE judge;
            END IF;
            -- FAILED and UNKNOWN are told to the world, so they must not go back: reap() or a claim that
            -- commits decides (begin does).
            IF v_bound AND in_routine <> 'begin' THEN
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
            IF in_met <> 'lock' AND v_tries < 8 THEN
                SET in_met = v_row_day;
                ITERATE again;
            END IF;
            SET v_refusal = 'IN_PROGRESS', out_retry_after_ms = 100, out_owner = NULL;
        END;

        -- Wait with nothing in hand. A bound call does not wait for a holder with a committed lease: the
        -- duplicate's row lock would keep that very holder from finishing.
        IF v_refusal = 'IN_PROGRESS' THEN
            SET in_wait_ms = COALESCE(in_wait_ms, idem_setting('wait_ms'));
            IF v_waited_ms < in_wait_ms AND NOT (v_bound AND out_owner_since IS NOT NULL) THEN
                SELECT SLEEP(0.02) INTO v_tries;
                SET v_waited_ms = v_waited_ms + 20, v_tries = 0, v_refusal = NULL;
            END IF;
        END IF;
        IF v_refusal IS NULL THEN
            SET out_result = NULL, out_error = NULL, out_checkpoint = NULL, out_first_seen = NULL,
                out_finished_at = NULL, out_retry_after_ms = NULL, out_owner = NULL,
                out_owner_since = NULL;
            CALL idem._take(in_routine, in_scope, in_biz_type, in_key, in_payload, out_token, in_met);
            IF in_met IS NULL THEN
                SET out_state = IF(in_scope = '', 'CLAIMED', 'NEW'), out_attempt = 1;
                LEAVE main;
            END IF;
            ITERATE again;
        END IF;

        SET v_refusal = idem_refused(v_refusal, in_scope, v_row_day, in_key);
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
    END LOOP;
END$$
DELIMITER ;
