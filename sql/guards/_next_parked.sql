DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._next_parked(
    IN in_routine VARCHAR(32),
    IN in_projection LONGBLOB,
    IN in_id_hash BINARY(32),
    IN in_current BIGINT UNSIGNED,
    IN in_taken LONGTEXT CHARACTER SET utf8mb4,
    OUT out_list_sql LONGTEXT CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: forgets a parked event that the row has passed (in_current is its version), and answers the
assignments of the next one, or NULL.
'
BEGIN
    DECLARE v_passed BIGINT UNSIGNED;
    DECLARE v_set LONGBLOB;
    DECLARE v_left INT;

    CALL idem._may(in_routine, in_projection);
    -- The plain look takes no lock; one a call is enough, the call that applied it comes back.
    SELECT MIN(e.version) INTO v_passed FROM idem.parked_event e
     WHERE e.projection = in_projection AND e.id_hash = in_id_hash AND e.version <= in_current;
    IF v_passed IS NOT NULL THEN
        -- A KILL can make MariaDB answer that nothing matched, and go on; but the snapshot may as well show
        -- what others have forgotten. A locking look tells.
        REPEAT
            DELETE FROM idem.parked_event
             WHERE projection = in_projection AND id_hash = in_id_hash AND version = v_passed;
            SET v_left = ROW_COUNT() = 0;
            IF v_left THEN
                SELECT COUNT(*) INTO v_left FROM idem.parked_event e
                 WHERE e.projection = in_projection AND e.id_hash = in_id_hash AND e.version = v_passed
                   FOR UPDATE;
            END IF;
        UNTIL NOT v_left END REPEAT;
    END IF;
    -- A locking read, because the snapshot may be older than what was parked. Under REPEATABLE READ it
    -- keeps others from parking close by until the transaction ends; under READ COMMITTED it does not.
    SELECT MAX(COALESCE(e.set_json, '{}')) INTO v_set FROM idem.parked_event e
     WHERE e.projection = in_projection AND e.id_hash = in_id_hash AND e.version = in_current + 1
       FOR UPDATE;
    SET out_list_sql = NULL;
    IF v_set IS NOT NULL THEN
        CALL idem._set_list(in_routine, v_set, in_taken, TRUE, out_list_sql);
    END IF;
END$$
DELIMITER ;
