-- Invoker's rights: information_schema shows the caller only what the caller may see.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._same(
    IN in_routine VARCHAR(32),
    IN in_schema VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_table VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_set LONGBLOB,
    OUT out_same_sql LONGTEXT CHARACTER SET utf8mb4
)
    READS SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Private: an expression that is true when a row holds the values of set_json, each brought to its column''s
type first, as the assignment did (1.005 in a DECIMAL(10,2) is the same as 1.01); without meaning for
$add, which snapshots do not take. Errors: 52001 unknown column.
'
BEGIN
    DECLARE v_set LONGTEXT CHARACTER SET utf8mb4 DEFAULT CONVERT(COALESCE(in_set, '{}') USING utf8mb4);
    DECLARE v_keys LONGTEXT CHARACTER SET utf8mb4 DEFAULT JSON_KEYS(v_set);
    DECLARE v_name VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_type VARCHAR(64);
    DECLARE v_length, v_precision, v_scale, v_fraction BIGINT UNSIGNED;
    DECLARE v_column, v_value, v_literal LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(512);
    DECLARE i INT DEFAULT 0;

    SET out_same_sql = 'TRUE';
    WHILE i < JSON_LENGTH(v_keys) DO
        SET v_name = JSON_UNQUOTE(JSON_EXTRACT(v_keys, CONCAT('$[', i, ']'))), v_type = NULL;
        SELECT c.data_type, c.character_maximum_length, c.numeric_precision, c.numeric_scale,
               c.datetime_precision
          INTO v_type, v_length, v_precision, v_scale, v_fraction
          FROM information_schema.columns c
         WHERE c.table_schema = in_schema AND c.table_name = in_table AND c.column_name = v_name;
        IF v_type IS NULL THEN
            SET v_text = CONCAT('idem.', in_routine, ': set_json: table ', in_table, ' has no column ', v_name);
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;
        SET v_value = JSON_EXTRACT(v_set, CONCAT('$."', v_name, '"')), v_column = idem._quote(v_name),
            v_literal = IF(JSON_EXISTS(v_value, '$."$add"'), 'NULL', idem._literal(v_value)),
            out_same_sql = CONCAT(out_same_sql, ' AND ',
                CASE
                WHEN v_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint')
                    THEN CONCAT(v_column, ' <=> CAST(', v_literal, ' AS DECIMAL(65,0))')
                WHEN v_type = 'decimal'
                    THEN CONCAT(v_column, ' <=> CAST(', v_literal, ' AS DECIMAL(', v_precision, ',',
                                v_scale, '))')
                WHEN v_type IN ('float', 'double', 'date')
                    THEN CONCAT(v_column, ' <=> CAST(', v_literal, ' AS ', v_type, ')')
                WHEN v_type IN ('datetime', 'timestamp', 'time')
                    THEN CONCAT(v_column, ' <=> CAST(', v_literal, ' AS ',
                                IF(v_type = 'time', 'TIME', 'DATETIME'), '(', v_fraction, '))')
                WHEN v_type LIKE '%char' OR v_type LIKE '%text'
                    THEN CONCAT('CAST(CONVERT(', v_column, ' USING utf8mb4) AS BINARY) <=> CAST(',
                                IF(v_type = 'char', CONCAT('TRIM(TRAILING '' '' FROM ', v_literal, ')'),
                                   v_literal), ' AS BINARY)')
                WHEN v_type = 'binary'
                    THEN CONCAT(v_column, ' <=> RPAD(CAST(', v_literal, ' AS BINARY), ', v_length, ', X''00'')')
                WHEN v_type = 'varbinary' OR v_type LIKE '%blob'
                    THEN CONCAT(v_column, ' <=> CAST(', v_literal, ' AS BINARY)')
                ELSE CONCAT(v_column, ' <=> ', v_literal)
                END),
            i = i + 1;
    END WHILE;
END$$
DELIMITER ;
