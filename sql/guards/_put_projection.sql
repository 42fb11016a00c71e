DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._put_projection(
    IN in_name VARBINARY(64),
    IN in_schema VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_table VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_key_columns LONGTEXT CHARACTER SET utf8mb4,
    IN in_version_column VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_version_max BIGINT UNSIGNED,
    IN in_kind VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: stores what define_projection has checked.'
BEGIN
    DECLARE v_count INT;
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;

    -- First the lock of the definition, with nothing in hand: transactions that use it may still park.
    SELECT COUNT(*) INTO v_count FROM idem.projection p WHERE p.name = in_name FOR UPDATE;
    IF EXISTS (SELECT 1 FROM idem.projection p JOIN idem.parked_event e ON e.projection = p.name
                WHERE p.name = in_name
                  AND (p.table_schema <> in_schema OR p.table_name <> in_table OR p.kind <> in_kind
                       OR NOT JSON_EQUALS(p.key_columns, in_key_columns)
                       OR p.version_column <> in_version_column)) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT =
            'idem.define_projection: events are parked for the projection as it was; see show_parked()';
    END IF;
    INSERT INTO idem.projection (name, table_schema, table_name, key_columns, version_column, version_max,
                                 kind, updated_at, updated_by)
    VALUES (in_name, in_schema, in_table, in_key_columns, in_version_column, in_version_max, in_kind, v_now,
            USER())
    ON DUPLICATE KEY UPDATE table_schema = in_schema, table_name = in_table,
                            key_columns = in_key_columns, version_column = in_version_column,
                            version_max = in_version_max, kind = in_kind, updated_at = v_now,
                            updated_by = USER();
    CALL idem._audit('define_projection', in_name, NULL,
                     JSON_OBJECT('schema', in_schema, 'table', in_table, 'kind', in_kind));
END$$
DELIMITER ;
