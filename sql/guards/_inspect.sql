-- Invoker's rights: information_schema shows the caller only what the caller may see.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._inspect(
    IN in_schema LONGTEXT CHARACTER SET utf8mb4,
    IN in_table LONGTEXT CHARACTER SET utf8mb4,
    IN in_key_column LONGTEXT CHARACTER SET utf8mb4,
    IN in_column LONGTEXT CHARACTER SET utf8mb4,
    OUT out_problem LONGTEXT CHARACTER SET utf8mb4,
    OUT out_schema VARCHAR(64) CHARACTER SET utf8mb4,
    OUT out_table VARCHAR(64) CHARACTER SET utf8mb4,
    OUT out_key_columns LONGTEXT CHARACTER SET utf8mb4,
    OUT out_column VARCHAR(64) CHARACTER SET utf8mb4,
    OUT out_column_type LONGTEXT CHARACTER SET utf8mb4
)
    READS SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Private: whether a table can be guarded. in_key_column: a name, or a JSON array of names. out_problem is
NULL or says what does not fit; the rest is what the registry keeps.
'
main: BEGIN
    DECLARE v_engine, v_table_type, v_type, v_charset, v_collation, v_generated VARCHAR(64) DEFAULT NULL;
    DECLARE v_names LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[]';
    DECLARE v_given LONGTEXT CHARACTER SET utf8mb4 DEFAULT in_key_column;
    DECLARE v_wanted, v_name, v_nullable VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_length BIGINT UNSIGNED;
    DECLARE i, v_count INT DEFAULT 0;

    SET out_problem = NULL, out_key_columns = '[]', out_table = NULL;
    IF in_schema IS NULL OR in_table IS NULL OR in_key_column IS NULL OR in_column IS NULL THEN
        SET out_problem = 'schema, table and column names must not be NULL';
        LEAVE main;
    END IF;
    IF in_schema IN ('idem', 'mysql', 'information_schema', 'performance_schema', 'sys') THEN
        SET out_problem = CONCAT('tables of schema ', in_schema, ' cannot be guarded');
        LEAVE main;
    END IF;
    SELECT t.table_schema, t.table_name, t.engine, t.table_type
      INTO out_schema, out_table, v_engine, v_table_type
      FROM information_schema.tables t
     WHERE t.table_schema = in_schema AND t.table_name = in_table;
    IF out_table IS NULL THEN
        SET out_problem = CONCAT('there is no table ', LEFT(in_schema, 64), '.', LEFT(in_table, 64),
                                 ', or you may not see it');
        LEAVE main;
    END IF;
    IF v_table_type NOT IN ('BASE TABLE', 'SYSTEM VERSIONED') OR NOT v_engine <=> 'InnoDB' THEN
        SET out_problem = CONCAT(out_schema, '.', out_table, ' is not an InnoDB table');
        LEAVE main;
    END IF;

    IF NOT JSON_VALID(v_given) OR JSON_TYPE(v_given) <> 'ARRAY' THEN
        SET v_given = JSON_ARRAY(v_given);
    END IF;
    SET v_count = JSON_LENGTH(v_given);
    IF v_count NOT BETWEEN 1 AND 16 THEN
        SET out_problem = 'key_column takes 1 to 16 columns';
        LEAVE main;
    END IF;
    WHILE i < v_count DO
        SET v_wanted = LEFT(JSON_VALUE(v_given, CONCAT('$[', i, ']')), 64), v_name = NULL;
        SELECT c.column_name, c.data_type, c.is_nullable, c.character_set_name, c.collation_name,
               c.character_maximum_length, c.is_generated
          INTO v_name, v_type, v_nullable, v_charset, v_collation, v_length, v_generated
          FROM information_schema.columns c
         WHERE c.table_schema = out_schema AND c.table_name = out_table AND c.column_name = v_wanted;
        SET v_type = CASE WHEN v_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') THEN 'int'
                          WHEN v_type IN ('char', 'varchar') THEN 'text'
                          WHEN v_type IN ('binary', 'varbinary', 'uuid', 'date') THEN v_type END;
        IF v_name IS NULL THEN
            SET out_problem = CONCAT(out_table, ' has no column ', COALESCE(v_wanted, 'NULL'));
        ELSEIF v_type IS NULL THEN
            SET out_problem = CONCAT('key column ', v_name, ' must be of an integer type, CHAR, VARCHAR,'
                                     ' BINARY, VARBINARY, UUID or DATE');
        ELSEIF v_nullable <> 'NO' OR v_generated <> 'NEVER' THEN
            SET out_problem = CONCAT('key column ', v_name, ' must be NOT NULL and not generated');
        ELSEIF JSON_CONTAINS(v_names, JSON_QUOTE(v_name)) THEN
            SET out_problem = CONCAT('key column ', v_name, ' is named twice');
        END IF;
        IF out_problem IS NOT NULL THEN
            LEAVE main;
        END IF;
        SET v_names = JSON_ARRAY_APPEND(v_names, '$', v_name),
            out_key_columns = JSON_ARRAY_INSERT(out_key_columns, CONCAT('$[', i, ']'),
                JSON_OBJECT('name', v_name, 'type', v_type, 'charset', v_charset,
                            'collation', v_collation, 'length', v_length)),
            i = i + 1;
    END WHILE;
    -- Exactly these columns: a key over more of them does not make a row unique, over fewer it makes
    -- the first creation of one row fail because of another.
    IF NOT EXISTS (SELECT 1 FROM information_schema.statistics s
                    WHERE s.table_schema = out_schema AND s.table_name = out_table AND s.non_unique = 0
                    GROUP BY s.index_name
                   HAVING COUNT(*) = v_count
                      AND SUM(s.sub_part IS NULL AND JSON_CONTAINS(v_names, JSON_QUOTE(s.column_name)))
                          = v_count) THEN
        SET out_problem = CONCAT(out_table, ' has no primary or unique key on exactly ', v_names);
        LEAVE main;
    END IF;

    SET out_column = NULL;
    SELECT c.column_name, c.column_type, c.is_generated
      INTO out_column, out_column_type, v_generated
      FROM information_schema.columns c
     WHERE c.table_schema = out_schema AND c.table_name = out_table AND c.column_name = LEFT(in_column, 64);
    IF out_column IS NULL THEN
        SET out_problem = CONCAT(out_table, ' has no column ', LEFT(in_column, 64));
    ELSEIF v_generated <> 'NEVER' OR JSON_CONTAINS(v_names, JSON_QUOTE(out_column)) THEN
        SET out_problem = CONCAT('column ', out_column, ' must be neither generated nor part of the key');
    END IF;
END$$
DELIMITER ;
