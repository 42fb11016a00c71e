DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._registry(
    OUT out_all LONGTEXT CHARACTER SET utf8mb4
)
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: all machines and projections as a JSON array, for verify_guards().'
BEGIN
    SET STATEMENT group_concat_max_len = 4294967295 FOR
        SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT('kind', g.kind, 'name', CONVERT(g.name USING utf8mb4),
                                                  'schema', g.table_schema, 'table', g.table_name,
                                                  'column', g.guarded, 'key', JSON_COMPACT(g.key_columns),
                                                  'names', JSON_EXTRACT(g.key_columns, '$[*].name'))), '[]')
          INTO out_all
          FROM (SELECT 'machine' AS kind, m.name, m.table_schema, m.table_name, m.state_column AS guarded,
                       m.key_columns
                  FROM idem.machine m
                UNION ALL
                SELECT 'projection', p.name, p.table_schema, p.table_name, p.version_column, p.key_columns
                  FROM idem.projection p) g;
END$$
DELIMITER ;
