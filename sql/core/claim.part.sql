    DECLARE v_plan VARBINARY(125);
    DECLARE v_token BIGINT UNSIGNED DEFAULT NULL;
    DECLARE v_met VARCHAR(64) DEFAULT NULL;

    -- @include core/take.part.sql
    --   ROUTINE='claim'
    --   SCOPE=''
    --   BIZ_TYPE=in_biz_type
    --   KEY=in_key
    --   PAYLOAD=in_payload
    --   WAIT_MS={WAIT_MS}
    --   LOOK_FIRST=TRUE
    --   TOKEN=v_token
    IF v_met IS NULL THEN
        SELECT 'CLAIMED' AS state, v_token AS token, 1 AS attempt, NULL AS result, NULL AS error,
               NULL AS checkpoint, NULL AS last_error, NULL AS first_seen, NULL AS finished_at,
               NULL AS retry_after_ms, NULL AS owner, NULL AS owner_since, NULL AS observed;
    ELSE
        CALL idem._judge_row(in_biz_type, in_key, in_payload, {WAIT_MS}, v_met);
    END IF;
