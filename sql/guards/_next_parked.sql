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
Private: forgets the parked events up to in_current, which the row has passed, and answers the
assignments of the next one, or NULL.
'
BEGIN
    DECLARE v_passed INT;
    DECLARE v_set LONGBLOB;

    CALL idem._may(in_routine, in_projection);
    -- A locking read, because the snapshot may be older than what was parked. Under REPEATABLE READ it
    -- keeps others from parking close by until the transaction ends; under READ COMMITTED it does not.
    SELECT COALESCE(SUM(e.version <= in_current), 0),
           MAX(IF(e.version = in_current + 1, COALESCE(e.set_json, '{}'), NULL))
      INTO v_passed, v_set
      FROM idem.parked_event e
     WHERE e.projection = in_projection AND e.id_hash = in_id_hash AND e.version <= in_current + 1
       FOR UPDATE;
    IF v_passed > 0 THEN
        DELETE FROM idem.parked_event
         WHERE projection = in_projection AND id_hash = in_id_hash AND version <= in_current;
    END IF;
    SET out_list_sql = NULL;
    IF v_set IS NOT NULL THEN
        CALL idem._set_list(in_routine, v_set, in_taken, TRUE, out_list_sql);
    END IF;
END$$
DELIMITER ;
