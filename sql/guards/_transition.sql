-- UPDATE first: it names the states it may come from, so it can happen once, and it never matches
-- without changing, so ROW_COUNT() means the same under every client flag. Then a locking read: what
-- the caller is told is what is there now, not what an old snapshot shows, and it stays so until the
-- caller's transaction ends.
--
-- Each statement is complete in itself, so there is no transaction here: in autocommit the UPDATE is
-- the commit, and a kill between the two leaves nothing open. Not applied and yet in a state that leads
-- to the target: the row was changed between the two statements (READ COMMITTED or autocommit; the
-- UPDATE keeps no lock on a row that it does not match), or a KILL has made MariaDB 11 answer that nothing
-- matched, and go on: so once more. There is no handler for anything
-- but an unknown column; 1213 and 1020 go to the caller.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._transition(
    IN in_routine VARCHAR(32),
    IN in_machine LONGBLOB,
    IN in_id LONGBLOB,
    IN in_to LONGBLOB,
    IN in_set LONGBLOB,
    OUT out_outcome VARCHAR(16),
    OUT out_state VARCHAR(255) CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT 'Private: see transition().'
main: BEGIN
    DECLARE v_schema, v_table VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_table_sql, v_state_sql VARCHAR(256) CHARACTER SET utf8mb4;
    DECLARE v_to_sql VARCHAR(600) CHARACTER SET utf8mb4;
    DECLARE v_from_sql, v_where_sql, v_list_sql, v_same_sql LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_moved, v_tries INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR 1054
    BEGIN
        CALL idem._same(in_routine, v_schema, v_table, in_set, v_same_sql);
        RESIGNAL;
    END;

    CALL idem._machine(in_routine, in_machine, in_id, in_to, in_set, v_schema, v_table, v_table_sql,
                       v_state_sql, v_to_sql, v_from_sql, v_where_sql, v_list_sql);
    REPEAT
        IF v_from_sql IS NOT NULL THEN
            EXECUTE IMMEDIATE CONCAT('UPDATE ', v_table_sql, ' SET ', v_state_sql, ' = ', v_to_sql,
                                     v_list_sql, ' WHERE ', v_where_sql, ' AND ', v_state_sql,
                                     ' IN (', v_from_sql, ')');
            SET v_moved = ROW_COUNT();
        END IF;
        EXECUTE IMMEDIATE CONCAT('SELECT COUNT(*), MAX(CONVERT(', v_state_sql, ' USING utf8mb4)), MAX(',
                                 v_state_sql, ' = ', v_to_sql, '), MAX(', v_state_sql, ' IN (',
                                 COALESCE(v_from_sql, 'NULL'),
                                 ')) INTO @idem_rows, @idem_value, @idem_same, @idem_source FROM ',
                                 v_table_sql, ' WHERE ', v_where_sql, ' FOR UPDATE');
        -- In a transaction the row is still ours: only a trigger of the table can have put it back.
        SET v_tries = v_tries + 1,
            out_outcome = CASE WHEN v_moved = 1 AND (@idem_same OR NOT @@in_transaction) THEN 'APPLIED'
                               WHEN @idem_rows = 0 THEN 'MISSING'
                               WHEN @idem_same THEN 'ALREADY'
                               WHEN @idem_source AND v_tries < 8 THEN NULL
                               ELSE 'ILLEGAL' END;
    UNTIL out_outcome IS NOT NULL END REPEAT;
    SET out_state = IF(out_outcome = 'APPLIED', CONVERT(in_to USING utf8mb4), @idem_value),
        out_outcome = SUBSTR(idem_count(CONCAT('TRANSITION_', out_outcome)), 12);
END$$
DELIMITER ;
