DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._park(
    IN in_routine VARCHAR(32),
    IN in_projection LONGBLOB,
    IN in_id_hash BINARY(32),
    IN in_id LONGBLOB,
    IN in_version BIGINT UNSIGNED,
    IN in_set LONGBLOB,
    OUT out_outcome VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: keeps an event that came too early. PARKED; CONFLICT when another content is parked under the
version; GAP when enough are parked for the row already, and always on a Galera node. Errors: 52001 when the
projection does not park any more.
'
main: BEGIN
    DECLARE v_parked LONGBLOB;
    DECLARE v_most, v_count INT UNSIGNED;
    DECLARE v_added INT;
    DECLARE v_text VARCHAR(512);

    CALL idem._may(in_routine, in_projection);
    -- About: events that other transactions are parking are not seen.
    SELECT p.max_parked, COUNT(e.version) INTO v_most, v_count
      FROM idem.projection p
      LEFT JOIN idem.parked_event e
             ON e.projection = p.name AND e.id_hash = in_id_hash AND e.version <> in_version
     WHERE p.name = in_projection;
    -- Galera: parking and closing the gap on two nodes would miss each other, because neither waits for the
    -- other's row lock.
    IF v_count >= v_most OR idem_galera() THEN
        SET out_outcome = 'GAP';
        LEAVE main;
    END IF;
    REPEAT
        SET out_outcome = 'PARKED';
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1062 SET out_outcome = NULL;
            -- With the lock of the definition, in one statement: whoever drops or changes it has been
            -- waited for, or waits and sees the event.
            INSERT INTO idem.parked_event (projection, id_hash, version, id, set_json, parked_at,
                                           parked_by)
            SELECT p.name, in_id_hash, in_version, in_id, in_set,
                   TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND, USER()
              FROM idem.projection p
             WHERE p.name = in_projection AND p.park
              LOCK IN SHARE MODE;
            SET v_added = ROW_COUNT();
        END;
        IF out_outcome = 'PARKED' AND v_added = 0 THEN
            SET v_text = CONCAT('idem.', in_routine, ': the projection does not park events any more');
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
        END IF;
        IF out_outcome IS NULL THEN
            SELECT MAX(COALESCE(e.set_json, '{}')) INTO v_parked FROM idem.parked_event e
             WHERE e.projection = in_projection AND e.id_hash = in_id_hash AND e.version = in_version
              LOCK IN SHARE MODE;
            -- Gone (NULL): somebody has just applied or forgotten it. Once more.
            SET out_outcome = IF(idem_payload_hash(v_parked) = idem_payload_hash(COALESCE(in_set, '{}')),
                                 'PARKED', IF(v_parked IS NULL, NULL, 'CONFLICT'));
        END IF;
    UNTIL out_outcome IS NOT NULL END REPEAT;
END$$
DELIMITER ;
