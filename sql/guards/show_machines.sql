DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.show_machines()
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Lists the state machines, one row per state. reachable_from is empty for a state that nothing leads to.

Example: CALL idem.show_machines();
'
BEGIN
    SELECT CONVERT(m.name USING utf8mb4) AS name, m.table_schema, m.table_name,
           JSON_EXTRACT(m.key_columns, '$[*].name') AS key_columns, m.state_column,
           CONVERT(s.state USING utf8mb4) AS state, s.reachable_from, m.updated_at, m.updated_by
      FROM idem.machine m JOIN idem.machine_state s ON s.machine = m.name
     ORDER BY m.name, s.state;
END$$
DELIMITER ;
