DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.apply_delta(
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
Applies an event of a delta projection, if it is the next one of its row. The first (1, or what
set_projection says) creates the row.

in_id, in_set_json: as in transition(). in_version: a whole number from 0, at most what the column holds.
out_outcome: APPLIED; DUPLICATE: the row has passed it; GAP: earlier events are missing, nothing was kept,
deliver it again later; PARKED (see set_projection): it is kept and applied by the call that closes the gap;
CONFLICT: another content is parked under this version. out_expected: the version that is missing next.
Errors: 52001, 52005, 52006, 52007, and the server''s own; 1213 and 1020: the transaction is gone. Runs with
the caller''s rights on the table; not in triggers and functions (dynamic SQL).

Example: CALL idem.apply_delta(''balance'', 7, 12, ''{"cents":995}'', @outcome, @expected);
'
BEGIN
    CALL idem._apply('apply_delta', in_projection, in_id, in_version, in_set_json, out_outcome, out_expected);
END$$
DELIMITER ;
