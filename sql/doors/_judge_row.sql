DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._judge_row(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB,
    IN in_wait_ms BIGINT UNSIGNED,
    IN v_met VARCHAR(64)
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: what claim() and idem_claim() answer when take.part.sql met something.'
BEGIN
    DECLARE v_token BIGINT UNSIGNED;
    DECLARE v_state, v_observed VARCHAR(16) DEFAULT NULL;
    DECLARE v_retry_after_ms BIGINT UNSIGNED;
    DECLARE v_attempt INT UNSIGNED;
    DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
    DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;

    BEGIN
        -- @include core/look.part.sql
        --   ROUTINE='claim'
        --   WAIT_MS=in_wait_ms
        --   AFRESH=BEGIN END;
    END;
    SELECT v_state AS state, v_token AS token, v_attempt AS attempt, v_result AS result,
           IF(v_state = 'RECLAIMED', NULL, v_error) AS error, v_checkpoint AS checkpoint,
           IF(v_state = 'RECLAIMED', v_error, NULL) AS last_error, v_first_seen AS first_seen,
           v_finished_at AS finished_at, v_retry_after_ms AS retry_after_ms, v_owner AS owner,
           v_owner_since AS owner_since, v_observed AS observed;
END$$
DELIMITER ;
