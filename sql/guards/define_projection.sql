DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.define_projection(
    IN in_name LONGBLOB,
    IN in_schema LONGTEXT CHARACTER SET utf8mb4,
    IN in_table LONGTEXT CHARACTER SET utf8mb4,
    IN in_key_column LONGTEXT CHARACTER SET utf8mb4,
    IN in_version_column LONGTEXT CHARACTER SET utf8mb4,
    IN in_kind LONGTEXT CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Registers a table whose rows follow a stream of versioned events, or takes the place of a projection with
the same name (what set_projection said about it is kept).

in_name: 1-64 bytes; access rules (allow, deny) match it as a biz_type. in_key_column: the column of a
primary or unique key, or a JSON array of its columns. in_version_column: an integer, NOT NULL.
in_kind: snapshot (an event carries the whole content; the newest wins: apply_snapshot) or delta (every
event counts, in order: apply_delta).
Errors: 52001 with what does not fit; 1205 when transactions that use the one before stay open.

Example: CALL idem.define_projection(''balance'', ''bank'', ''account'', ''id'', ''version'', ''delta'');
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_problem, v_key_columns, v_type LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_schema, v_table, v_column VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_max BIGINT UNSIGNED;
    DECLARE v_text VARCHAR(512);

    SET v_checked = idem_check('define_projection', @@character_set_results, in_name, 'guard');
    CALL idem._inspect(in_schema, in_table, in_key_column, in_version_column, v_problem, v_schema, v_table,
                       v_key_columns, v_column, v_type);
    IF v_problem IS NULL THEN
        -- The largest version: of the type, and never over the largest signed 64-bit number.
        SET v_max = (CASE REGEXP_SUBSTR(v_type, '\\A[a-z]+(?![a-z])')
                     WHEN 'tinyint' THEN 127 WHEN 'smallint' THEN 32767 WHEN 'mediumint' THEN 8388607
                     WHEN 'int' THEN 2147483647 WHEN 'bigint' THEN 9223372036854775807 END);
        IF v_type LIKE '%unsigned%' AND v_type NOT LIKE 'bigint%' THEN
            SET v_max = 2 * v_max + 1;
        END IF;
        IF v_max IS NULL OR EXISTS (SELECT 1 FROM information_schema.columns c
                                     WHERE c.table_schema = v_schema AND c.table_name = v_table
                                       AND c.column_name = v_column AND c.is_nullable <> 'NO') THEN
            SET v_problem = CONCAT('version column ', v_column, ' must be an integer and NOT NULL');
        ELSEIF in_kind IS NULL OR in_kind NOT IN ('snapshot', 'delta') THEN
            SET v_problem = 'kind must be snapshot or delta';
        END IF;
    END IF;
    IF v_problem IS NOT NULL THEN
        SET v_text = CONCAT('idem.define_projection: ', LEFT(v_problem, 400));
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    CALL idem._put_projection(in_name, v_schema, v_table, v_key_columns, v_column, v_max, in_kind);
END$$
DELIMITER ;
