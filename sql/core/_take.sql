DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._take(
    IN in_routine VARCHAR(16),
    IN in_scope LONGBLOB,
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB,
    OUT out_token BIGINT UNSIGNED,
    OUT out_met VARCHAR(64)
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: the first half of a claim, for callers that are no door. out_token: taken, first attempt; else
NULL, and out_met for _judge().
'
BEGIN
    DECLARE v_plan VARBINARY(125);
    DECLARE v_met VARCHAR(64) DEFAULT NULL;

    -- @include core/take.part.sql
    --   ROUTINE=in_routine
    --   SCOPE=in_scope
    --   BIZ_TYPE=in_biz_type
    --   KEY=in_key
    --   PAYLOAD=in_payload
    --   WAIT_MS=NULL
    --   LOOK_FIRST=FALSE
    --   TOKEN=out_token
    SET out_met = v_met;
END$$
DELIMITER ;
