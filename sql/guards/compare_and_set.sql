DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.compare_and_set(
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_expected_version LONGBLOB,
    IN in_set_json LONGBLOB,
    OUT out_outcome VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Optimistic lock: changes a row only if it still has the version that the caller read, and adds 1 to it.
Works on projections of both kinds; it never creates a row.

in_id, in_set_json: as in transition(). out_outcome: APPLIED; CONFLICT: the row has another version (also
after a repeat of one''s own call), read it again and decide anew; MISSING: no such row.
Errors as in apply_snapshot().

Example: CALL idem.compare_and_set(''customer'', 7, 3, ''{"name":"Ada L."}'', @outcome);
'
BEGIN
    DECLARE v_expected BIGINT UNSIGNED;

    CALL idem._apply('compare_and_set', in_projection, in_id, in_expected_version, in_set_json, out_outcome,
                     v_expected);
END$$
DELIMITER ;
