DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.show_projections()
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Lists the projections, with how many events are parked for each and since when the oldest.

Example: CALL idem.show_projections();
'
BEGIN
    SELECT CONVERT(p.name USING utf8mb4) AS name, p.table_schema, p.table_name,
           JSON_EXTRACT(p.key_columns, '$[*].name') AS key_columns, p.version_column, p.kind,
           p.first_version, p.park, p.max_parked, COUNT(e.version) AS parked,
           MIN(e.parked_at) AS oldest_parked_at, p.updated_at, p.updated_by
      FROM idem.projection p LEFT JOIN idem.parked_event e ON e.projection = p.name
     GROUP BY p.name
     ORDER BY p.name;
END$$
DELIMITER ;
