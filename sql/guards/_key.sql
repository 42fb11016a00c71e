DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._key(
    IN in_routine VARCHAR(32),
    IN in_columns LONGTEXT CHARACTER SET utf8mb4,
    IN in_id LONGBLOB,
    OUT out_where LONGTEXT CHARACTER SET utf8mb4,
    OUT out_set LONGTEXT CHARACTER SET utf8mb4,
    OUT out_hash LONGTEXT CHARACTER SET utf8mb4
)
    CONTAINS SQL
    SQL SECURITY DEFINER
    COMMENT '
Private: an id as SQL text: the condition that finds its row, the assignments for a new row, and an
expression that is equal for ids which the key columns take for equal. An id that the server would bend
to fit a column (7x for 7) is refused: it would be merged with another. Errors: 52001.
'
BEGIN
    DECLARE v_count INT DEFAULT JSON_LENGTH(in_columns);
    DECLARE v_column, v_element, v_ids LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_name VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE v_type VARCHAR(16);
    DECLARE v_value LONGBLOB;
    DECLARE v_literal, v_weight LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_problem VARCHAR(128) DEFAULT NULL;
    DECLARE v_text VARCHAR(512);
    DECLARE i INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR 1300
    BEGIN
        SET v_text = CONCAT('idem.', in_routine, ': id is not UTF-8; SET NAMES utf8mb4');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END;

    SET out_where = '', out_set = '', out_hash = '';
    IF v_count > 1 THEN
        SET v_ids = CONVERT(in_id USING utf8mb4);
        IF in_id IS NULL OR NOT (CAST(v_ids AS BINARY) <=> in_id) OR NOT JSON_VALID(v_ids)
           OR JSON_TYPE(v_ids) <> 'ARRAY' OR JSON_LENGTH(v_ids) <> v_count THEN
            SET v_text = CONCAT('idem.', in_routine, ': id must be a JSON array of ', v_count,
                                ' values, one for each key column');
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;
    END IF;
    WHILE i < v_count DO
        SET v_column = JSON_EXTRACT(in_columns, CONCAT('$[', i, ']')),
            v_name = JSON_VALUE(v_column, '$.name'), v_type = JSON_VALUE(v_column, '$.type'),
            v_value = in_id;
        IF v_count > 1 THEN
            SET v_element = JSON_EXTRACT(v_ids, CONCAT('$[', i, ']'));
            IF JSON_TYPE(v_element) = 'OBJECT' THEN
                SET v_value = UNHEX(JSON_VALUE(v_element, '$."$hex"'));
            ELSEIF JSON_TYPE(v_element) IN ('STRING', 'INTEGER') THEN
                SET v_value = JSON_UNQUOTE(v_element);
            ELSE
                SET v_value = NULL;
            END IF;
        END IF;

        IF v_value IS NULL THEN
            SET v_problem = 'is NULL or of no fitting type';
        ELSEIF v_type IN ('binary', 'varbinary') THEN
            IF v_type = 'binary' AND LENGTH(v_value) <> JSON_VALUE(v_column, '$.length') THEN
                SET v_problem = CONCAT('takes exactly ', JSON_VALUE(v_column, '$.length'), ' bytes');
            END IF;
            SET v_literal = CONCAT('X''', HEX(v_value), '''');
        ELSEIF v_type = 'uuid' AND LENGTH(v_value) = 16 THEN
            SET v_literal = CONCAT('_utf8mb4 X''', HEX(LOWER(HEX(v_value))), '''');
        ELSE
            SET v_element = CONVERT(v_value USING utf8mb4);
            IF NOT (CAST(v_element AS BINARY) <=> v_value)
               OR (LENGTH(v_element) <> CHAR_LENGTH(v_element) -- see idem_check
                   AND COALESCE(@@character_set_results, 'binary') NOT REGEXP '\\A(utf8|binary)') THEN
                SET v_problem = 'is not UTF-8; SET NAMES utf8mb4';
            ELSEIF v_type = 'int' THEN
                IF v_element NOT REGEXP '\\A-?[0-9]{1,20}\\z' THEN
                    SET v_problem = 'takes a whole number';
                ELSE
                    SET v_literal = CAST(v_element AS DECIMAL(20, 0));
                END IF;
            ELSEIF v_type = 'uuid' THEN
                SET v_element = LOWER(REPLACE(v_element, '-', ''));
                IF v_element NOT REGEXP '\\A[0-9a-f]{32}\\z' THEN
                    SET v_problem = 'takes a UUID as text or as 16 bytes';
                END IF;
                SET v_literal = CONCAT('_utf8mb4 X''', HEX(v_element), '''');
            ELSEIF v_type = 'date' THEN
                IF v_element NOT REGEXP '\\A[0-9]{4}-[0-9]{2}-[0-9]{2}\\z'
                   OR CAST(v_element AS DATE) IS NULL THEN
                    SET v_problem = 'takes a date, YYYY-MM-DD';
                END IF;
                SET v_literal = CONCAT('_utf8mb4 X''', HEX(v_element), '''');
            ELSEIF JSON_VALUE(v_column, '$.charset') = 'utf8mb3'
                   AND v_element REGEXP '[\\x{10000}-\\x{10FFFF}]' THEN
                SET v_problem = 'has characters that its character set utf8mb3 lacks';
            ELSE
                SET v_literal = CONCAT('_utf8mb4 X''', HEX(v_element), '''');
            END IF;
        END IF;
        IF v_problem IS NOT NULL THEN
            SET v_text = CONCAT('idem.', in_routine, ': id: column ', v_name, ' ', v_problem);
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;

        SET v_weight = IF(v_type <> 'text', v_literal,
                          CONCAT('WEIGHT_STRING(CONVERT(',
                                 IF(JSON_VALUE(v_column, '$.collation') LIKE '%nopad%', v_literal,
                                    CONCAT('TRIM(TRAILING '' '' FROM ', v_literal, ')')),
                                 ' USING ', JSON_VALUE(v_column, '$.charset'), ') COLLATE ',
                                 JSON_VALUE(v_column, '$.collation'), ')')),
            v_element = CONCAT(idem._quote(v_name), ' = ', v_literal),
            out_where = CONCAT(out_where, IF(i > 0, ' AND ', ''), v_element),
            out_set = CONCAT(out_set, IF(i > 0, ', ', ''), v_element),
            out_hash = CONCAT(out_hash, IF(i > 0, ', ', ''), 'HEX(', v_weight, ')'),
            i = i + 1;
    END WHILE;
    SET out_hash = CONCAT('UNHEX(SHA2(CONCAT_WS('','', ', out_hash, '), 256))');
END$$
DELIMITER ;
