-- Versions, for all three ways to apply one. Every change is one statement that names the version it may
-- come from, or the insert that the unique key lets happen once; the UPDATE always moves the version, so
-- ROW_COUNT() means the same under every client flag. Nothing changed: a locking read says why, from the
-- row as it is now. If it could have been changed after all (somebody was in between, or a KILL has made
-- MariaDB 11 answer that nothing matched, and go on), once more.
--
-- A row that is not there yet is inserted without a locking look before: that would lock the gap, and
-- two new rows would deadlock. The plain look only chooses where to begin, and it opens the caller's snapshot;
-- so a call that could not make the row begins with the UPDATE.
--
-- Each statement is complete in itself and may be repeated, so there is no transaction here, and a kill
-- between two of them leaves nothing open and loses nothing:
--   applied, but what was parked behind it not yet: the caller got an error, delivers the event again,
--       and DUPLICATE looks for parked events too
--   a parked event was applied but is still parked: its version has passed, the next call forgets it
-- Parking and closing the gap cannot miss each other: the one parks and then looks at the row, the other
-- changes the row and then looks at what is parked, both at what is there now.
--
-- A parked event that the table refuses (a CHECK, say) fails the call that would have applied it, and
-- stays parked: forget_parked() is for that.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._apply(
    IN in_routine VARCHAR(32),
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version LONGBLOB,
    IN in_set LONGBLOB,
    OUT out_outcome VARCHAR(16),
    OUT out_expected BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
Private: see apply_snapshot(), apply_delta() and compare_and_set(). out_expected: the version that a delta
must have next.
'
main: BEGIN
    DECLARE v_schema, v_table VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_table_sql, v_version_sql VARCHAR(256) CHARACTER SET utf8mb4;
    DECLARE v_where_sql, v_key_sql, v_hash_sql, v_list_sql, v_same_sql LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_read_sql LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_mode VARCHAR(8);
    DECLARE v_version, v_new, v_first BIGINT UNSIGNED;
    DECLARE v_park, v_makes, v_exists, v_parked, v_done BOOLEAN DEFAULT FALSE;
    DECLARE v_hash BINARY(32);
    DECLARE v_moved, v_tries INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR 1054
    BEGIN
        CALL idem._same(in_routine, v_schema, v_table, in_set, v_same_sql);
        RESIGNAL;
    END;

    CALL idem._projection(in_routine, in_projection, in_id, in_version, in_set, v_schema, v_table,
                          v_table_sql, v_version_sql, v_where_sql, v_key_sql, v_hash_sql, v_list_sql,
                          v_mode, v_version, v_first, v_park);
    SET v_new = IF(v_mode = 'cas', v_version + 1, v_version),
        v_read_sql = CONCAT('SELECT COUNT(*), MAX(', v_version_sql, ') INTO @idem_rows, @idem_value FROM ',
                            v_table_sql, ' WHERE ', v_where_sql, ' FOR UPDATE');
    SET v_makes = v_mode = 'snapshot' OR (v_mode = 'delta' AND v_new = v_first);
    EXECUTE IMMEDIATE CONCAT('SELECT COUNT(*), ', IF(v_park, v_hash_sql, 'NULL'),
                             ' INTO @idem_rows, @idem_value',
                             IF(v_makes, CONCAT(' FROM ', v_table_sql, ' WHERE ', v_where_sql), ''));
    SET v_exists = @idem_rows, v_hash = @idem_value; -- without a table: one row

    REPEAT
        SET v_tries = v_tries + 1, v_moved = 0;
        IF v_exists THEN
            EXECUTE IMMEDIATE CONCAT('UPDATE ', v_table_sql, ' SET ', v_version_sql, ' = ', v_new, v_list_sql,
                                     ' WHERE ', v_where_sql, ' AND ',
                                     IF(v_mode = 'snapshot', CONCAT(v_version_sql, ' < ', v_new),
                                        IF(v_new = 0, 'FALSE', CONCAT(v_version_sql, ' = ', v_new - 1))));
            SET v_moved = ROW_COUNT();
            IF v_moved = 1 THEN
                SET out_outcome = IF(v_mode = 'snapshot', 'UPDATED', 'APPLIED');
            END IF;
        ELSEIF v_makes THEN
            BEGIN
                DECLARE EXIT HANDLER FOR 1062
                BEGIN
                    EXECUTE IMMEDIATE v_read_sql;
                    IF @idem_rows = 0 THEN -- another unique key of the table, or a trigger
                        RESIGNAL;
                    END IF;
                END;
                EXECUTE IMMEDIATE CONCAT('INSERT INTO ', v_table_sql, ' SET ', v_key_sql, ', ', v_version_sql,
                                         ' = ', v_new, v_list_sql);
                SET v_moved = 1, out_outcome = IF(v_mode = 'snapshot', 'INSERTED', 'APPLIED');
            END;
        END IF;
        IF v_moved = 1 THEN
            SET v_exists = TRUE, out_expected = v_new + 1;
        ELSE
            EXECUTE IMMEDIATE v_read_sql;
            SET v_exists = @idem_rows, out_expected = IF(v_exists, @idem_value + 1, v_first);
            IF v_mode = 'cas' THEN
                SET out_outcome = CASE WHEN NOT v_exists THEN 'MISSING'
                                       WHEN out_expected <> v_new THEN 'CONFLICT' END;
            ELSEIF v_mode = 'snapshot' AND v_exists AND out_expected > v_new + 1 THEN
                SET out_outcome = 'STALE';
            ELSEIF v_mode = 'snapshot' AND v_exists AND out_expected = v_new + 1 THEN
                CALL idem._same(in_routine, v_schema, v_table, in_set, v_same_sql);
                EXECUTE IMMEDIATE CONCAT('SELECT MAX(', v_same_sql, ') INTO @idem_same FROM ', v_table_sql,
                                         ' WHERE ', v_where_sql, ' AND ', v_version_sql, ' = ', v_new,
                                         ' FOR UPDATE');
                SET out_outcome = IF(@idem_same, 'DUPLICATE', IF(@idem_same = 0, 'CONFLICT', NULL));
            ELSEIF v_mode = 'delta' AND v_new < out_expected THEN
                SET out_outcome = 'DUPLICATE';
            ELSEIF v_mode = 'delta' AND v_new > out_expected THEN
                IF v_parked THEN
                    SET out_outcome = 'PARKED';
                ELSEIF v_park THEN
                    -- Refused now, not when the gap closes: that is another caller's call.
                    CALL idem._same(in_routine, v_schema, v_table, in_set, v_same_sql);
                    CALL idem._park(in_routine, in_projection, v_hash, in_id, v_new, in_set, out_outcome);
                    IF out_outcome = 'PARKED' THEN -- and look at the row again
                        SET v_parked = TRUE, out_outcome = NULL;
                    END IF;
                ELSE
                    SET out_outcome = 'GAP';
                END IF;
            END IF;
        END IF;
        IF out_outcome IS NULL AND v_tries >= 100 THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT =
                'idem: the version column does not move; does a trigger of the table put it back?';
        END IF;
    UNTIL out_outcome IS NOT NULL END REPEAT;
    SET out_outcome = SUBSTR(idem_count(CONCAT('VERSION_', out_outcome)), 9);

    -- What was parked behind it.
    SET v_done = NOT (v_park AND v_exists AND v_mode = 'delta'), v_tries = 0;
    WHILE NOT v_done DO
        CALL idem._next_parked(in_routine, in_projection, v_hash, out_expected - 1,
                               CONCAT(v_version_sql, v_key_sql), v_list_sql);
        IF v_list_sql IS NULL THEN
            SET v_done = TRUE;
        ELSE
            EXECUTE IMMEDIATE CONCAT('UPDATE ', v_table_sql, ' SET ', v_version_sql, ' = ', out_expected,
                                     v_list_sql, ' WHERE ', v_where_sql, ' AND ', v_version_sql, ' = ',
                                     out_expected - 1);
            IF ROW_COUNT() = 1 THEN
                SET out_expected = out_expected + 1, v_done = idem_count('VERSION_APPLIED') IS NULL;
            ELSE -- somebody else was quicker, or deleted the row; or nothing happened: once more
                EXECUTE IMMEDIATE v_read_sql;
                SET v_tries = v_tries + 1,
                    v_done = @idem_rows = 0 OR @idem_value < out_expected - 1 OR v_tries >= 100,
                    out_expected = IF(v_done, out_expected, @idem_value + 1);
            END IF;
        END IF;
    END WHILE;
END$$
DELIMITER ;
