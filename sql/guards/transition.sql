DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.transition(
    IN in_machine LONGBLOB,
    IN in_id LONGBLOB,
    IN in_to_state LONGBLOB,
    IN in_set_json LONGBLOB,
    OUT out_outcome VARCHAR(16),
    OUT out_state VARCHAR(255) CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Moves a row of a registered table to another state, if an edge leads there from the state it is in.

in_id: the key as text, a number, or raw bytes; for a key of several columns a JSON array, in which
{"$hex": "00ff"} is a binary value. in_set_json: {"column": value, ...} to set with it, or NULL. JSON null
is NULL, {"$hex": ...} a binary value, {"$add": -5} adds to what the row has (NULL counts as 0); other
objects and arrays are their text.

out_outcome: APPLIED; ALREADY: it is in the target state, nothing was written; ILLEGAL: no edge leads there
from out_state; MISSING: no such row. out_state: where the row is now.
Runs with the caller''s rights on the table. Uses dynamic SQL, so the server refuses it in triggers and
functions. Errors: 52001, 52005, 52006, 52007, and the server''s own; 1213 and 1020: the transaction is gone.

Example: CALL idem.transition(''order'', 42, ''PAID'', ''{"paid_by":"card"}'', @outcome, @state);
'
BEGIN
    CALL idem._transition('transition', in_machine, in_id, in_to_state, in_set_json, out_outcome, out_state);
END$$
DELIMITER ;
