-- A key that was finished lately is most likely replayed: a plain read that finds the very request at its
-- end is the answer, without the failing insert and without a lock. It sees nothing that is not committed
-- (idem_claim_plan() allows it only under READ COMMITTED and REPEATABLE READ) but the caller's own writes,
-- and a final state stays. Anything else is decided the long way.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._judge_row(
    IN in_routine VARCHAR(16),
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB,
    IN in_wait_ms BIGINT UNSIGNED,
    IN in_met VARCHAR(64)
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: what claim(), idem_claim() and begin() answer when _take() met something.'
main: BEGIN
    DECLARE v_state VARCHAR(16) DEFAULT NULL;
    DECLARE v_attempt INT UNSIGNED;
    DECLARE v_result, v_error LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_first_seen, v_finished_at DATETIME(6);

    IF in_met LIKE 'look %' THEN
        SELECT ELT(r.status, 'DONE', 'FAILED'), r.attempt, IF(r.status = 1, r.result, NULL),
               IF(r.status = 2, r.error, NULL), r.created_at, r.finished_at
          INTO v_state, v_attempt, v_result, v_error, v_first_seen, v_finished_at
          FROM idem.record r
         WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = SUBSTRING(in_met, 6)
           AND r.biz_type = in_biz_type AND r.status IN (1, 2)
           AND COALESCE(r.payload_hash = idem_payload_hash(in_payload), TRUE);
    END IF;
    IF v_state IS NOT NULL THEN
        IF in_routine = 'begin' THEN
            COMMIT AND NO CHAIN NO RELEASE;
        END IF;
        SELECT idem_count(v_state) AS state, NULL AS token, v_attempt AS attempt, v_result AS result,
               v_error AS error, NULL AS checkpoint, NULL AS last_error, v_first_seen AS first_seen,
               v_finished_at AS finished_at, NULL AS retry_after_ms, NULL AS owner,
               NULL AS owner_since, NULL AS observed;
        LEAVE main;
    END IF;
    BEGIN
        DECLARE v_token BIGINT UNSIGNED;
        DECLARE v_observed VARCHAR(16);
        DECLARE v_retry_after_ms BIGINT UNSIGNED;
        DECLARE v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
        DECLARE v_owner_since DATETIME(6);
        DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;

        CALL idem._judge(in_routine, '', in_biz_type, in_key, in_payload, in_wait_ms, in_met, v_state,
                         v_token, v_attempt, v_result, v_error, v_checkpoint, v_first_seen,
                         v_finished_at, v_retry_after_ms, v_owner, v_owner_since, v_observed);
        IF in_routine = 'begin' AND v_state NOT IN ('CLAIMED', 'RECLAIMED') THEN
            -- Commit: the policy may just have made a lapsed lease FAILED or UNKNOWN, and that is answered.
            COMMIT AND NO CHAIN NO RELEASE;
        END IF;
        SELECT v_state AS state, v_token AS token, v_attempt AS attempt, v_result AS result,
               IF(v_state = 'RECLAIMED', NULL, v_error) AS error, v_checkpoint AS checkpoint,
               IF(v_state = 'RECLAIMED', v_error, NULL) AS last_error, v_first_seen AS first_seen,
               v_finished_at AS finished_at, v_retry_after_ms AS retry_after_ms, v_owner AS owner,
               v_owner_since AS owner_since, v_observed AS observed;
    END;
END$$
DELIMITER ;
