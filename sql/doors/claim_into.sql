DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.claim_into(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB,
    IN in_wait_ms BIGINT UNSIGNED,
    OUT out_state VARCHAR(16),
    OUT out_token BIGINT UNSIGNED,
    OUT out_detail LONGTEXT CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
claim() for SQL callers: procedures, and triggers and functions, where the server lets nobody catch 1205,
so a key held by somebody else is that error there instead of IN_PROGRESS.

in_wait_ms: 0-60000 milliseconds to wait for the holder; NULL: idem_wait_ms. The rest as in claim().
out_detail: what the state carries, as a JSON object. Errors as in claim().

Example: CALL idem.claim_into(''payment'', ''order-42'', NULL, 0, @state, @token, @detail);
'
main: BEGIN
    DECLARE v_plan VARBINARY(125);
    DECLARE v_met VARCHAR(64) DEFAULT NULL;

    -- @include core/take.part.sql
    --   ROUTINE='claim'
    --   SCOPE=''
    --   BIZ_TYPE=in_biz_type
    --   KEY=in_key
    --   PAYLOAD=in_payload
    --   WAIT_MS=in_wait_ms
    --   LOOK_FIRST=FALSE
    --   TOKEN=out_token
    IF v_met IS NULL THEN
        SET out_state = 'CLAIMED', out_detail = '{"attempt":1}';
        LEAVE main;
    END IF;
    BEGIN
        DECLARE v_observed VARCHAR(16);
        DECLARE v_retry_after_ms BIGINT UNSIGNED;
        DECLARE v_attempt INT UNSIGNED;
        DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
        DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
        DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;

        CALL idem._judge('claim', '', in_biz_type, in_key, in_payload, in_wait_ms, v_met, out_state,
                         out_token, v_attempt, v_result, v_error, v_checkpoint, v_first_seen,
                         v_finished_at, v_retry_after_ms, v_owner, v_owner_since, v_observed);
        -- By hand, not JSON_OBJECT: result, error and checkpoint go in byte for byte.
        SET out_detail = CONCAT('{', CONCAT_WS(',',
            CONCAT('"attempt":', v_attempt),
            CONCAT('"result":', v_result),
            CONCAT(IF(out_state = 'RECLAIMED', '"last_error":', '"error":'), v_error),
            CONCAT('"checkpoint":', v_checkpoint),
            CONCAT('"first_seen":"', v_first_seen, '"'),
            CONCAT('"finished_at":"', v_finished_at, '"'),
            CONCAT('"retry_after_ms":', v_retry_after_ms),
            CONCAT('"owner":', JSON_QUOTE(v_owner)),
            CONCAT('"owner_since":"', v_owner_since, '"'),
            CONCAT('"observed":"', v_observed, '"')), '}');
    END;
END$$
DELIMITER ;
