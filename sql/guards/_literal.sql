-- The one routine that turns a value into SQL text: hex digits, or the digits of a checked number, so
-- no character of the value is ever read by the parser, under any character set or sql_mode.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost FUNCTION idem._literal(
    in_json LONGTEXT CHARACTER SET utf8mb4
)
    RETURNS LONGTEXT CHARACTER SET utf8mb4
    DETERMINISTIC
    NO SQL
    SQL SECURITY INVOKER
    COMMENT '
Private: the literal of a JSON value; {"$hex": "00ff"} is a binary string, other objects and arrays are
their JSON text. Errors: 52001.
'
BEGIN
    DECLARE v_text LONGTEXT CHARACTER SET utf8mb4 DEFAULT in_json;

    CASE JSON_TYPE(in_json)
        WHEN 'NULL' THEN
            RETURN 'NULL';
        WHEN 'BOOLEAN' THEN
            RETURN UPPER(in_json);
        WHEN 'INTEGER' THEN
            RETURN in_json;
        WHEN 'DOUBLE' THEN
            IF in_json NOT REGEXP '\\A-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?\\z' THEN
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                    MESSAGE_TEXT = 'idem: set_json holds a number that is not JSON';
            END IF;
            RETURN in_json;
        WHEN 'STRING' THEN
            SET v_text = JSON_UNQUOTE(in_json);
            IF BINARY v_text = BINARY in_json THEN -- how the server says that it cannot unquote
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                    MESSAGE_TEXT = 'idem: a JSON string holds an escape that is no character';
            END IF;
        WHEN 'OBJECT' THEN
            IF JSON_LENGTH(in_json) = 1 AND JSON_EXISTS(in_json, '$."$hex"') THEN
                SET v_text = JSON_VALUE(in_json, '$."$hex"');
                IF v_text IS NULL OR LENGTH(v_text) % 2 = 1 OR v_text REGEXP '[^0-9a-fA-F]' THEN
                    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                        MESSAGE_TEXT = 'idem: $hex takes an even number of hex digits';
                END IF;
                RETURN CONCAT('X''', v_text, '''');
            ELSEIF JSON_LENGTH(in_json) = 1 AND JSON_KEYS(in_json) LIKE '["$%' THEN
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT =
                    'idem: set_json knows {"$hex": ...} and, not in a snapshot, {"$add": number}';
            END IF;
        ELSE BEGIN END;
    END CASE;
    RETURN CONCAT('_utf8mb4 X''', HEX(v_text), '''');
END$$
DELIMITER ;
