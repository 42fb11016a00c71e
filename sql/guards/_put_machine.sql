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
    DECLARE v_from, v_to VARCHAR(255) CHARACTER SET utf8mb4;

    REPLACE INTO idem.machine (name, table_schema, table_name, key_columns, state_column, updated_at,
                               updated_by)
    VALUES (in_name, in_schema, in_table, in_key_columns, in_state_column,
            TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND, USER());
    DELETE FROM idem.machine_state WHERE machine = in_name;
    WHILE i < JSON_LENGTH(in_pairs) DO
        SET v_from = JSON_VALUE(in_pairs, CONCAT('$[', i, '][0]')),
            v_to = JSON_VALUE(in_pairs, CONCAT('$[', i, '][1]'));
        INSERT IGNORE INTO idem.machine_state (machine, state, reachable_from)
        VALUES (in_name, v_from, '[]'), (in_name, v_to, '[]');
        UPDATE idem.machine_state s
           SET s.reachable_from = JSON_ARRAY_APPEND(s.reachable_from, '$', v_from)
         WHERE s.machine = in_name AND s.state = CAST(v_to AS BINARY)
           AND NOT JSON_CONTAINS(s.reachable_from, JSON_QUOTE(v_from));
        SET i = i + 1;
    END WHILE;
    CALL idem._audit('define_machine', in_name, NULL,
                     JSON_OBJECT('schema', in_schema, 'table', in_table, 'edges', JSON_COMPACT(in_pairs)));
END$$
DELIMITER ;
