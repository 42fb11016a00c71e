DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.apply_snapshot(
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version LONGBLOB,
    IN in_set_json LONGBLOB,
    OUT out_outcome VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Brings a row of a snapshot projection to the content of a version, if that is newer than what it has.

in_id, in_set_json: as in transition(), without $add. in_version: a whole number from 0, at most what the column holds.
out_outcome: INSERTED, UPDATED; STALE: the row has a newer one; DUPLICATE: it has this one; CONFLICT: it has
this version with another content. With the last three nothing was written.
Errors: 52001, 52005, 52006, 52007, and the server''s own; 1213 and 1020: the transaction is gone. Runs with
the caller''s rights on the table; not in triggers and functions (dynamic SQL).

Example: CALL idem.apply_snapshot(''customer'', 7, 3, ''{"name":"Ada","email":null}'', @outcome);
'
BEGIN
    DECLARE v_expected BIGINT UNSIGNED;

    CALL idem._apply('apply_snapshot', in_projection, in_id, in_version, in_set_json, out_outcome, v_expected);
END$$
DELIMITER ;
