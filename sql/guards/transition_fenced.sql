DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.transition_fenced(
    IN in_machine LONGBLOB,
    IN in_id LONGBLOB,
    IN in_to_state LONGBLOB,
    IN in_set_json LONGBLOB,
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    OUT out_outcome VARCHAR(16),
    OUT out_state VARCHAR(255) CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
transition() by the owner of a claim: a worker whose lease was taken over gets 52004 and changes nothing,
and until the transaction ends nobody can take the claim over. In a transaction only (52006).

in_biz_type, in_key, in_token: the claim; in_token NULL: this session''s own. The rest as in transition().

Example: CALL idem.transition_fenced(''order'', 42, ''SENT'', NULL, ''ship'', ''order-42'', @token, @outcome, @state);
'
BEGIN
    CALL idem._fence('transition_fenced', in_biz_type, in_key, in_token);
    CALL idem._transition('transition_fenced', in_machine, in_id, in_to_state, in_set_json, out_outcome,
                          out_state);
END$$
DELIMITER ;
