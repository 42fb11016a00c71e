DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.claim(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Claims the right to carry out one action. Inside a transaction the claim commits or vanishes with it;
in autocommit it is a lease of its own.

in_biz_type: who uses the key, 1-64 bytes of UTF-8, not blank. in_key: 1-255 bytes, compared as bytes.
in_payload: NULL (not compared), JSON (compared by meaning) or anything else (compared as bytes).

Answers one row. state CLAIMED, RECLAIMED: do the work, then finish with token. DONE, FAILED: result or
error of the first run. IN_PROGRESS: try again after retry_after_ms. UNKNOWN: an operator decides.
Errors: 52001, 52002 key held by another biz_type, 52003 other payload, 52005, 52006, 52007; 1213 and
1020 (the transaction is gone). Waits up to idem_wait_ms, holding no lock on the key.

Example: CALL idem.claim(''payment'', ''order-42'', ''{"amount":10}'');
'
BEGIN
    DECLARE v_plan VARBINARY(125);
    DECLARE v_token BIGINT UNSIGNED DEFAULT NULL;
    DECLARE v_met VARCHAR(64) DEFAULT NULL;

    -- @include core/take.part.sql
    --   ROUTINE='claim'
    --   SCOPE=''
    --   BIZ_TYPE=in_biz_type
    --   KEY=in_key
    --   PAYLOAD=in_payload
    --   WAIT_MS=NULL
    --   LOOK_FIRST=TRUE
    --   TOKEN=v_token
    IF v_met IS NULL THEN
        SELECT 'CLAIMED' AS state, v_token AS token, 1 AS attempt, NULL AS result, NULL AS error,
               NULL AS checkpoint, NULL AS last_error, NULL AS first_seen, NULL AS finished_at,
               NULL AS retry_after_ms, NULL AS owner, NULL AS owner_since, NULL AS observed;
    ELSE
        CALL idem._judge_row(in_biz_type, in_key, in_payload, NULL, v_met);
    END IF;
END$$
DELIMITER ;
