DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.transition_strict(
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
transition() for callers that want success or an error: ILLEGAL and MISSING are error 52009, which says
where the row is. out_outcome is APPLIED or ALREADY.

Example: CALL idem.transition_strict(''order'', 42, ''PAID'', NULL, @outcome, @state);
'
BEGIN
    DECLARE v_text VARCHAR(512);

    CALL idem._transition('transition_strict', in_machine, in_id, in_to_state, in_set_json, out_outcome,
                          out_state);
    IF out_outcome IN ('ILLEGAL', 'MISSING') THEN
        SET v_text = CONCAT('idem.transition_strict: ',
                            IF(out_outcome = 'MISSING', 'there is no such row',
                               CONCAT('the row is in state ', COALESCE(out_state, 'NULL'),
                                      ', from which no edge leads there')));
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52009, MESSAGE_TEXT = v_text;
    END IF;
END$$
DELIMITER ;
