DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.consume(
    IN in_consumer LONGBLOB,
    IN in_event_id LONGBLOB,
    IN in_payload LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Inbox: takes an event once per consumer. Call it in the transaction that handles the event.

in_consumer: 1-64 bytes; for a side effect, the effect''s name. in_event_id: 1-255 bytes, compared as
bytes. in_payload: as in claim().

Answers one row. state NEW: handle the event. DUPLICATE: handled before, first_seen says when.
IN_PROGRESS: another transaction is handling it; try again after retry_after_ms.
Errors: 52001, 52003, 52005, 52006, 52007; 1213 and 1020 (the transaction is gone).

Example: CALL idem.consume(''billing'', ''evt-1001'', NULL);
'
BEGIN
    DECLARE v_plan VARBINARY(125);
    DECLARE v_token BIGINT UNSIGNED DEFAULT NULL;
    DECLARE v_met VARCHAR(64) DEFAULT NULL;

    -- @include core/take.part.sql
    --   ROUTINE='consume'
    --   SCOPE=in_consumer
    --   BIZ_TYPE=in_consumer
    --   KEY=in_event_id
    --   PAYLOAD=in_payload
    --   WAIT_MS=NULL
    --   LOOK_FIRST=FALSE
    --   TOKEN=v_token
    IF v_met IS NULL THEN
        SELECT 'NEW' AS state, NULL AS first_seen, NULL AS retry_after_ms, NULL AS observed;
    ELSE
        BEGIN
            DECLARE v_state, v_observed VARCHAR(16);
            DECLARE v_retry_after_ms BIGINT UNSIGNED;
            DECLARE v_attempt INT UNSIGNED;
            DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
            DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
            DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;

            CALL idem._judge('consume', in_consumer, in_consumer, in_event_id, in_payload, NULL, v_met,
                             v_state, v_token, v_attempt, v_result, v_error, v_checkpoint,
                             v_first_seen, v_finished_at, v_retry_after_ms, v_owner, v_owner_since,
                             v_observed);
            SELECT v_state AS state, v_first_seen AS first_seen, v_retry_after_ms AS retry_after_ms,
                   v_observed AS observed;
        END;
    END IF;
END$$
DELIMITER ;
