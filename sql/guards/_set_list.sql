DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._set_list(
    IN in_routine VARCHAR(32),
    IN in_set LONGBLOB,
    IN in_taken LONGTEXT CHARACTER SET utf8mb4,
    IN in_may_add BOOLEAN,
    OUT out_list LONGTEXT CHARACTER SET utf8mb4
)
    CONTAINS SQL
    SQL SECURITY DEFINER
    COMMENT '
Private: set_json as the tail of an assignment list, ", `a` = 1, `b` = ...". in_taken: quoted names of
the columns that it must not name. in_may_add: {"$add": n} adds to what the row has. Errors: 52001.
'
main: BEGIN
    DECLARE v_set, v_keys, v_value, v_addend LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_name LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_quoted VARCHAR(600) CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(512);
    DECLARE v_hash BINARY(32);
    DECLARE v_limit INT UNSIGNED DEFAULT idem_setting('max_result_bytes');
    DECLARE i INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR 1300
    BEGIN
        SET v_text = CONCAT('idem.', in_routine, ': set_json is not UTF-8; SET NAMES utf8mb4');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END;

    SET out_list = '';
    IF in_set IS NULL THEN
        LEAVE main;
    END IF;
    IF LENGTH(in_set) > v_limit THEN
        SET v_text = CONCAT('idem.', in_routine, ': set_json is ', LENGTH(in_set),
                            ' bytes long, the limit is ', v_limit);
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    SET v_set = CONVERT(in_set USING utf8mb4);
    IF NOT (CAST(v_set AS BINARY) <=> in_set) OR NOT JSON_VALID(v_set)
       OR JSON_TYPE(v_set) <> 'OBJECT' THEN
        SET v_text = CONCAT('idem.', in_routine,
                            ': set_json must be a JSON object in UTF-8, {"column": value, ...}');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    SET v_hash = idem_payload_hash(v_set); -- refuses a member that is named twice
    SET v_keys = JSON_KEYS(v_set);
    WHILE i < JSON_LENGTH(v_keys) DO
        SET v_name = JSON_UNQUOTE(JSON_EXTRACT(v_keys, CONCAT('$[', i, ']'))),
            v_value = IF(v_name REGEXP '["\\\\]' OR v_name = '' OR CHAR_LENGTH(v_name) > 64, NULL,
                         JSON_EXTRACT(v_set, CONCAT('$."', v_name, '"')));
        IF v_value IS NULL THEN -- also a name that is written with escapes
            SET v_text = CONCAT('idem.', in_routine, ': set_json: not the name of a column: ',
                                LEFT(v_name, 64));
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;
        SET v_quoted = idem._quote(v_name);
        IF LOCATE(v_quoted, in_taken COLLATE utf8mb4_general_ci) > 0 THEN
            SET v_text = CONCAT('idem.', in_routine, ': set_json must not set ', v_name,
                                ': the key, state and version columns are not its business');
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;
        SET v_addend = IF(in_may_add AND JSON_TYPE(v_value) = 'OBJECT' AND JSON_LENGTH(v_value) = 1,
                          JSON_EXTRACT(v_value, '$."$add"'), NULL);
        IF JSON_TYPE(v_addend) NOT IN ('INTEGER', 'DOUBLE') THEN
            SET v_text = CONCAT('idem.', in_routine, ': set_json: $add takes a number');
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;
        SET out_list = CONCAT(out_list, ', ', v_quoted, ' = ',
                              IF(v_addend IS NULL, idem._literal(v_value),
                                 CONCAT('COALESCE(', v_quoted, ', 0) + (', idem._literal(v_addend), ')'))),
            i = i + 1;
    END WHILE;
    IF out_list IS NULL THEN -- a string function gives NULL over max_allowed_packet
        SET v_text = CONCAT('idem.', in_routine, ': set_json is too long for max_allowed_packet');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
END$$
DELIMITER ;
