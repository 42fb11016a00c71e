DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.verify_guards()
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Looks whether the tables of all machines and projections still fit, after they were altered or dropped.
One row per problem; no row: all is well. Needs to see the tables: run it as an account that may.

Example: CALL idem.verify_guards();
'
BEGIN
    DECLARE v_all, v_entry, v_problems, v_key_columns, v_type, v_problem LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_schema, v_table, v_column VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE i INT DEFAULT 0;

    CALL idem._registry(v_all);
    SET v_problems = '[]';
    WHILE i < JSON_LENGTH(v_all) DO
        SET v_entry = JSON_EXTRACT(v_all, CONCAT('$[', i, ']'));
        CALL idem._inspect(JSON_VALUE(v_entry, '$.schema'), JSON_VALUE(v_entry, '$.table'),
                           JSON_EXTRACT(v_entry, '$.names'), JSON_VALUE(v_entry, '$.column'), v_problem,
                           v_schema, v_table, v_key_columns, v_column, v_type);
        IF v_problem IS NULL AND NOT JSON_EQUALS(v_key_columns, JSON_EXTRACT(v_entry, '$.key')) THEN
            SET v_problem = 'a key column has changed its type: define it again';
        END IF;
        IF v_problem IS NOT NULL THEN
            SET v_problems = JSON_ARRAY_APPEND(v_problems, '$',
                    JSON_OBJECT('k', JSON_VALUE(v_entry, '$.kind'), 'n', JSON_VALUE(v_entry, '$.name'),
                                'p', v_problem));
        END IF;
        SET i = i + 1;
    END WHILE;
    SELECT p.kind, p.name, p.problem
      FROM JSON_TABLE(v_problems, '$[*]' COLUMNS (kind VARCHAR(16) PATH '$.k', name VARCHAR(64) PATH '$.n',
                                                  problem VARCHAR(512) PATH '$.p')) p
     ORDER BY p.kind, p.name;
END$$
DELIMITER ;
