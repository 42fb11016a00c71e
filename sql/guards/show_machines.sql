DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.show_machines()
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Lists the state machines. reachable_from: each state, and the states that lead to it.

Example: CALL idem.show_machines();
'
BEGIN
    SELECT CONVERT(m.name USING utf8mb4) AS name, m.table_schema, m.table_name,
           JSON_EXTRACT(m.key_columns, '$[*].name') AS key_columns, m.state_column, m.reachable_from,
           m.updated_at, m.updated_by
      FROM idem.machine m
     ORDER BY m.name;
END$$
DELIMITER ;
