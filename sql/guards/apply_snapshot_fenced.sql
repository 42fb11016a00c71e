DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.apply_snapshot_fenced(
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version LONGBLOB,
    IN in_set_json LONGBLOB,
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    OUT out_outcome VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
apply_snapshot() by the owner of a claim; see transition_fenced().

Example: CALL idem.apply_snapshot_fenced(''customer'', 7, 3, ''{"name":"Ada"}'', ''sync'', ''customer-7'', @token, @outcome);
'
BEGIN
    DECLARE v_expected BIGINT UNSIGNED;

    CALL idem._fence('apply_snapshot_fenced', in_biz_type, in_key, in_token);
    CALL idem._apply('apply_snapshot_fenced', in_projection, in_id, in_version, in_set_json, out_outcome,
                     v_expected);
END$$
DELIMITER ;
