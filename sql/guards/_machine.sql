DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._machine(
    IN in_routine VARCHAR(32),
    IN in_name LONGBLOB,
    IN in_id LONGBLOB,
    IN in_to LONGBLOB,
    IN in_set LONGBLOB,
    OUT out_schema VARCHAR(64) CHARACTER SET utf8mb4,
    OUT out_table VARCHAR(64) CHARACTER SET utf8mb4,
    OUT out_table_sql VARCHAR(256) CHARACTER SET utf8mb4,
    OUT out_state_sql VARCHAR(160) CHARACTER SET utf8mb4,
    OUT out_to_sql VARCHAR(600) CHARACTER SET utf8mb4,
    OUT out_from_sql LONGTEXT CHARACTER SET utf8mb4,
    OUT out_where_sql LONGTEXT CHARACTER SET utf8mb4,
    OUT out_list_sql LONGTEXT CHARACTER SET utf8mb4
)
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: checks the arguments of a transition and answers the parts of its statements. out_from_sql is
NULL for a state that nothing leads to. Errors: 52001, 52007.
'
BEGIN
    DECLARE v_key_columns, v_states, v_from, v_set LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_state_column VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(512);
    DECLARE i INT DEFAULT 0;

    CALL idem._may(in_routine, in_name);
    -- @include guards/definition.part.sql
    --   COLUMNS=table_schema, table_name, key_columns, state_column, reachable_from
    --   VARIABLES=out_schema, out_table, v_key_columns, v_state_column, v_states
    --   TABLE=idem.machine
    -- As define_machine checks them: so it can stand in a JSON path.
    IF LENGTH(in_to) <= 255 AND in_to NOT REGEXP '["\\\\]' THEN
        SET v_from = JSON_EXTRACT(v_states, CONCAT('$."', in_to, '"'));
    END IF;
    IF v_from IS NULL THEN
        SET v_text = CONCAT('idem.', in_routine, ': ',
                            IF(out_table IS NULL, 'there is no machine of this name',
                               IF(in_to IS NULL, 'to_state is NULL',
                                  'to_state is not a state of this machine')));
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    SET out_table_sql = CONCAT(idem._quote(out_schema), '.', idem._quote(out_table)),
        out_state_sql = idem._quote(v_state_column),
        out_to_sql = CONCAT('_utf8mb4 X''', HEX(in_to), '''');
    WHILE i < JSON_LENGTH(v_from) DO
        SET out_from_sql = CONCAT_WS(', ', out_from_sql,
                                     idem._literal(JSON_EXTRACT(v_from, CONCAT('$[', i, ']')))),
            i = i + 1;
    END WHILE;
    CALL idem._key(in_routine, v_key_columns, in_id, out_where_sql, v_set, v_text);
    CALL idem._set_list(in_routine, in_set, CONCAT(out_state_sql, v_set), TRUE, out_list_sql);
END$$
DELIMITER ;
