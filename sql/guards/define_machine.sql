DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.define_machine(
    IN in_name LONGBLOB,
    IN in_schema LONGTEXT CHARACTER SET utf8mb4,
    IN in_table LONGTEXT CHARACTER SET utf8mb4,
    IN in_key_column LONGTEXT CHARACTER SET utf8mb4,
    IN in_state_column LONGTEXT CHARACTER SET utf8mb4,
    IN in_edges LONGTEXT CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Registers a state machine over a column of a table, or takes the place of one with the same name.

in_name: 1-64 bytes; access rules (allow, deny) match it as a biz_type. in_key_column: the column of a
primary or unique key, or a JSON array of its columns. in_state_column: CHAR, VARCHAR, ENUM or an integer.
in_edges: {"from": ["to", ...], ...} or [["from", "to"], ...]. A state cannot lead to itself: being there
already is ALREADY, so a repeat never acts.
Errors: 52001 with what does not fit; 1205 when transactions that use the one before stay open.

Example: CALL idem.define_machine(''order'', ''shop'', ''orders'', ''id'', ''status'', ''{"NEW":["PAID"]}'');
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_problem, v_key_columns, v_type, v_keys, v_targets LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_schema, v_table, v_column VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_pairs, v_states LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[]';
    DECLARE v_state LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(512);
    DECLARE v_hash BINARY(32);
    DECLARE i, j INT DEFAULT 0;

    SET v_checked = idem_check('define_machine', @@character_set_results, in_name, 'guard');
    CALL idem._inspect(in_schema, in_table, in_key_column, in_state_column, v_problem, v_schema, v_table,
                       v_key_columns, v_column, v_type);
    IF v_problem IS NULL
       AND v_type NOT REGEXP '\\A(char|varchar|enum|tinyint|smallint|mediumint|int|bigint)[^a-z]' THEN
        SET v_problem = CONCAT('state column ', v_column, ' must be CHAR, VARCHAR, ENUM or an integer');
    ELSEIF v_problem IS NULL AND (in_edges IS NULL OR NOT JSON_VALID(in_edges)
                                  OR JSON_TYPE(in_edges) NOT IN ('ARRAY', 'OBJECT')) THEN
        SET v_problem = 'edges must be JSON: {"from": ["to", ...], ...}';
    ELSEIF v_problem IS NULL AND JSON_TYPE(in_edges) = 'OBJECT' THEN
        SET v_hash = idem_payload_hash(in_edges); -- refuses a state that is named twice
        SET v_keys = JSON_KEYS(in_edges);
        WHILE i < JSON_LENGTH(v_keys) DO
            SET v_state = JSON_UNQUOTE(JSON_EXTRACT(v_keys, CONCAT('$[', i, ']'))),
                v_targets = JSON_EXTRACT(in_edges, CONCAT('$."', v_state, '"')), j = 0;
            IF v_targets IS NULL OR JSON_TYPE(v_targets) <> 'ARRAY' THEN
                SET v_problem = CONCAT('edges: what follows "', LEFT(v_state, 64), '" must be an array');
            END IF;
            WHILE j < JSON_LENGTH(v_targets) AND v_problem IS NULL DO
                SET v_pairs = JSON_ARRAY_APPEND(v_pairs, '$',
                        JSON_ARRAY(v_state, JSON_VALUE(v_targets, CONCAT('$[', j, ']')))),
                    j = j + 1;
            END WHILE;
            SET i = i + 1;
        END WHILE;
    ELSEIF v_problem IS NULL THEN
        WHILE i < JSON_LENGTH(in_edges) DO
            IF JSON_LENGTH(in_edges, CONCAT('$[', i, ']')) <> 2 THEN
                SET v_problem = 'edges: an edge must be ["from", "to"]';
            END IF;
            SET v_pairs = JSON_ARRAY_APPEND(v_pairs, '$',
                    JSON_ARRAY(JSON_VALUE(in_edges, CONCAT('$[', i, '][0]')),
                               JSON_VALUE(in_edges, CONCAT('$[', i, '][1]')))),
                i = i + 1;
        END WHILE;
    END IF;
    IF v_problem IS NULL AND JSON_LENGTH(v_pairs) = 0 THEN
        SET v_problem = 'edges: there is none';
    END IF;

    SET i = 0;
    WHILE i < 2 * JSON_LENGTH(v_pairs) AND v_problem IS NULL DO
        SET v_state = JSON_VALUE(v_pairs, CONCAT('$[', i DIV 2, '][', i % 2, ']'));
        IF v_state IS NULL OR v_state = '' OR LENGTH(v_state) > 255 OR v_state REGEXP '["\\\\]'
           OR v_state REGEXP '(\\A\\x20|\\x20\\z)' THEN
            SET v_problem = 'edges: a state takes 1 to 255 bytes, no quote, no backslash, no space at the ends';
        ELSEIF v_type REGEXP '\\A(char|varchar)' THEN
            IF CHAR_LENGTH(v_state) > CAST(REGEXP_SUBSTR(v_type, '[0-9]+(?![0-9])') AS UNSIGNED) THEN
                SET v_problem = CONCAT('state "', v_state, '" does not fit ', v_type);
            END IF;
        ELSEIF v_type LIKE 'enum%' THEN
            IF LOCATE(CONCAT('''', REPLACE(v_state, '''', ''''''), ''''), BINARY v_type) = 0 THEN
                SET v_problem = CONCAT('state "', v_state, '" is not a value of ', v_column);
            END IF;
        ELSEIF v_state NOT REGEXP '\\A(0|-?[1-9][0-9]{0,18})\\z' THEN
            SET v_problem = CONCAT('state "', v_state, '" is not a whole number, as ', v_column, ' wants');
        END IF;
        IF i % 2 = 1 AND v_state COLLATE utf8mb4_general_ci
                         = JSON_VALUE(v_pairs, CONCAT('$[', i DIV 2, '][0]')) THEN
            SET v_problem = CONCAT('edges: "', v_state, '" leads to itself');
        END IF;
        SET v_states = JSON_ARRAY_APPEND(v_states, '$', v_state), i = i + 1;
    END WHILE;
    IF v_problem IS NULL
       AND (SELECT COUNT(DISTINCT BINARY s.state) <> COUNT(DISTINCT s.state COLLATE utf8mb4_general_ci)
              FROM JSON_TABLE(v_states, '$[*]' COLUMNS (state VARCHAR(255) PATH '$')) s) THEN
        SET v_problem = 'edges: two states differ only in case or accents';
    END IF;
    IF v_problem IS NOT NULL THEN
        SET v_text = CONCAT('idem.define_machine: ', LEFT(v_problem, 400));
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    CALL idem._put_machine(in_name, v_schema, v_table, v_key_columns, v_column, v_pairs);
END$$
DELIMITER ;
