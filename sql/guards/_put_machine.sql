DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._put_machine(
    IN in_name VARBINARY(64),
    IN in_schema VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_table VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_key_columns LONGTEXT CHARACTER SET utf8mb4,
    IN in_state_column VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_pairs LONGTEXT CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: stores what define_machine has checked. in_pairs: [[from, to], ...].'
BEGIN
    DECLARE i INT DEFAULT 0;
    DECLARE v_from, v_to VARCHAR(300) CHARACTER SET utf8mb4;
    DECLARE v_states LONGTEXT CHARACTER SET utf8mb4 DEFAULT '{}';

    WHILE i < JSON_LENGTH(in_pairs) DO
        SET v_from = JSON_VALUE(in_pairs, CONCAT('$[', i, '][0]')),
            v_to = CONCAT('$."', JSON_VALUE(in_pairs, CONCAT('$[', i, '][1]')), '"'),
            v_states = JSON_INSERT(v_states, CONCAT('$."', v_from, '"'), JSON_ARRAY(),
                                   v_to, JSON_ARRAY()),
            i = i + 1;
        IF NOT JSON_CONTAINS(v_states, JSON_QUOTE(v_from), v_to) THEN
            SET v_states = JSON_ARRAY_APPEND(v_states, v_to, v_from);
        END IF;
    END WHILE;
    REPLACE INTO idem.machine (name, table_schema, table_name, key_columns, state_column, reachable_from,
                               updated_at, updated_by)
    VALUES (in_name, in_schema, in_table, in_key_columns, in_state_column, v_states,
            TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND, USER());
    CALL idem._audit('define_machine', in_name, NULL,
                     JSON_OBJECT('schema', in_schema, 'table', in_table, 'edges', JSON_COMPACT(in_pairs)));
END$$
DELIMITER ;
