DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._projection(
    IN in_routine VARCHAR(32),
    IN in_name LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version LONGBLOB,
    IN in_set LONGBLOB,
    OUT out_schema VARCHAR(64) CHARACTER SET utf8mb4,
    OUT out_table VARCHAR(64) CHARACTER SET utf8mb4,
    OUT out_table_sql VARCHAR(256) CHARACTER SET utf8mb4,
    OUT out_version_sql VARCHAR(160) CHARACTER SET utf8mb4,
    OUT out_where_sql LONGTEXT CHARACTER SET utf8mb4,
    OUT out_key_sql LONGTEXT CHARACTER SET utf8mb4,
    OUT out_hash_sql LONGTEXT CHARACTER SET utf8mb4,
    OUT out_list_sql LONGTEXT CHARACTER SET utf8mb4,
    OUT out_mode VARCHAR(8),
    OUT out_version BIGINT UNSIGNED,
    OUT out_first BIGINT UNSIGNED,
    OUT out_park BOOLEAN
)
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: checks the arguments of apply_snapshot, apply_delta and compare_and_set and answers the parts of
their statements. Errors: 52001, 52007.
'
BEGIN
    DECLARE v_key_columns LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_version_column VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_kind VARCHAR(8);
    DECLARE v_max BIGINT UNSIGNED;
    DECLARE v_digits VARCHAR(255);
    DECLARE v_text VARCHAR(512);

    CALL idem._may(in_routine, in_name);
    -- @include guards/definition.part.sql
    --   COLUMNS=table_schema, table_name, key_columns, version_column, version_max, kind, first_version, park
    --   VARIABLES=out_schema, out_table, v_key_columns, v_version_column, v_max, v_kind, out_first, out_park
    --   TABLE=idem.projection
    SET v_digits = LEFT(in_version, 255),
        v_text = CASE
            WHEN out_table IS NULL THEN 'there is no projection of this name'
            WHEN v_kind = 'delta' AND in_routine LIKE 'apply_snapshot%'
                THEN 'this projection is declared delta: use apply_delta'
            WHEN v_kind = 'snapshot' AND in_routine LIKE 'apply_delta%'
                THEN 'this projection is declared snapshot: use apply_snapshot'
            WHEN v_digits IS NULL THEN 'version is NULL'
            WHEN v_digits = '' OR LENGTH(v_digits) > 19 OR v_digits REGEXP '[^0-9]'
                 OR CAST(v_digits AS UNSIGNED) > v_max - (in_routine = 'compare_and_set')
                THEN CONCAT('version takes a whole number from 0 to ',
                            v_max - (in_routine = 'compare_and_set'))
        END;
    IF v_text IS NOT NULL THEN
        SET v_text = CONCAT('idem.', in_routine, ': ', v_text);
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    SET out_mode = IF(in_routine = 'compare_and_set', 'cas', v_kind), out_version = v_digits,
        out_table_sql = CONCAT(idem._quote(out_schema), '.', idem._quote(out_table)),
        out_version_sql = idem._quote(v_version_column);
    CALL idem._key(in_routine, v_key_columns, in_id, out_where_sql, out_key_sql, out_hash_sql);
    CALL idem._set_list(in_routine, in_set, CONCAT(out_version_sql, out_key_sql), out_mode <> 'snapshot',
                        out_list_sql);
END$$
DELIMITER ;
