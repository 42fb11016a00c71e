DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.apply_delta_fenced(
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version LONGBLOB,
    IN in_set_json LONGBLOB,
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    OUT out_outcome VARCHAR(16),
    OUT out_expected BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
apply_delta() by the owner of a claim; see transition_fenced().

Example: CALL idem.apply_delta_fenced(''balance'', 7, 12, ''{"cents":995}'', ''book'', ''entry-12'', @token, @outcome, @expected);
'
BEGIN
    CALL idem._fence('apply_delta_fenced', in_biz_type, in_key, in_token);
    CALL idem._apply('apply_delta_fenced', in_projection, in_id, in_version, in_set_json, out_outcome,
                     out_expected);
END$$
DELIMITER ;
