-- Apply first, then note the event: the version guard makes the apply itself harmless to repeat, so
-- whatever is cut off between the two is healed by the next delivery, in autocommit too (it is DUPLICATE
-- then, and noted). Noting first would lose the event. The look before is for an id that comes again with
-- another version.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.consume_and_apply(
    IN in_consumer LONGBLOB,
    IN in_event_id LONGBLOB,
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version LONGBLOB,
    IN in_set_json LONGBLOB,
    OUT out_outcome VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
    COMMENT '
consume() and apply_snapshot() or apply_delta(), as the projection is declared, in one call.

out_outcome: as in apply_snapshot() and apply_delta(); DUPLICATE also for an event that the consumer has
taken before. With GAP and CONFLICT the event is not taken: it may be delivered again.
Errors: 52003 the event id was used for another event, and those of the two calls.

Example: CALL idem.consume_and_apply(''billing'', ''evt-1001'', ''balance'', 7, 12, ''{"cents":995}'', @outcome);
'
main: BEGIN
    DECLARE v_expected BIGINT UNSIGNED;
    DECLARE v_state VARCHAR(16);
    DECLARE v_payload LONGBLOB DEFAULT
        CONCAT('["', HEX(in_projection), '","', HEX(in_id), '","', in_version, '",',
               COALESCE(in_set_json, '{}'), ']');

    CALL idem._event(FALSE, in_consumer, in_event_id, v_payload, v_state);
    IF v_state = 'DUPLICATE' THEN
        SET out_outcome = 'DUPLICATE';
        LEAVE main;
    END IF;
    CALL idem._apply('consume_and_apply', in_projection, in_id, in_version, in_set_json, out_outcome,
                     v_expected);
    IF out_outcome IN ('GAP', 'CONFLICT') THEN
        LEAVE main;
    END IF;
    CALL idem._event(TRUE, in_consumer, in_event_id, v_payload, v_state);
    -- Held by somebody who is noting the same event: the apply waited for that one, nothing was written.
    IF v_state = 'IN_PROGRESS' AND out_outcome NOT IN ('DUPLICATE', 'STALE') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52003,
            MESSAGE_TEXT = 'idem.consume_and_apply: the event id is being used for another event';
    END IF;
END$$
DELIMITER ;
