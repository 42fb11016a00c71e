DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.apply_delta_strict(
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version LONGBLOB,
    IN in_set_json LONGBLOB,
    OUT out_outcome VARCHAR(16),
    OUT out_expected BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
apply_delta() for callers that want a gap to be an error: GAP and CONFLICT are error 52010, which names the
version that is missing. out_outcome is APPLIED, DUPLICATE or PARKED.

Example: CALL idem.apply_delta_strict(''balance'', 7, 12, ''{"cents":995}'', @outcome, @expected);
'
BEGIN
    DECLARE v_text VARCHAR(512);

    CALL idem._apply('apply_delta_strict', in_projection, in_id, in_version, in_set_json, out_outcome,
                     out_expected);
    IF out_outcome IN ('GAP', 'CONFLICT') THEN
        SET v_text = CONCAT('idem.apply_delta_strict: version ', CONVERT(in_version USING utf8mb4),
                            IF(out_outcome = 'GAP', ' came', ' is parked with another content'),
                            ' while ', out_expected, ' is next');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52010, MESSAGE_TEXT = v_text;
    END IF;
END$$
DELIMITER ;
