-- Taking a key and looking at the other days, as one statement.
--
-- The primary key alone would accept a key once per day, because it must contain the partition column.
-- So whoever takes a key also looks for it in every other day that may hold it. Being a function, row and
-- look are one statement of the caller: when the key is found elsewhere, is locked there, or the call is
-- killed or crashes on the way, the row goes back with the statement, in autocommit too. Nothing is ever
-- committed that was not looked for.
--
-- Why it is enough: of two sessions that put the same key into different days each has its row in place
-- before it looks, and looks with a locking read, so at least one meets the other's row. idem_look_day()
-- reads the day again: a session that got a later day than ours before our look is looked for there;
-- one that gets it after our look inserts after it, and meets our row.
--
-- Tomorrow: only a server whose clock was ahead can have put the key there (before a fail-over to this
-- one, or a restart with the clock set back; while a server runs its day never goes back). Those rows are
-- committed, so a plain read finds them; a locking one would lock the gaps where everybody inserts after
-- midnight. idem_look_day() names tomorrow in the last two hours of a day: the clock difference covered.
--
-- Point reads only: a range over (scope, idem_key, created_on) would lock the next key as well.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost FUNCTION idem._acquire(
    in_scope VARBINARY(64),
    in_key VARBINARY(255),
    in_day DATE,
    in_biz_type VARBINARY(64),
    in_status TINYINT UNSIGNED,
    in_old_token BIGINT UNSIGNED,
    in_token BIGINT UNSIGNED,
    in_hash BINARY(32),
    in_error LONGTEXT CHARACTER SET utf8mb4,
    in_lease_until DATETIME(6),
    in_now DATETIME(6)
) RETURNS BOOLEAN
    DETERMINISTIC
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: inserts a record (in_old_token NULL) or takes one over, and looks at the other days. 1: done.
0: the record has another token by now. 1062: the key is in this day, or in the day that COLUMN_NAME
says (empty in the server''s own 1062). 1205: somebody holds it. Not deterministic; said so because with
the binlog on the server would refuse the function otherwise (it is logged as rows).
'
BEGIN
    DECLARE v_i INT DEFAULT 0;
    DECLARE v_found DATE DEFAULT NULL;
    DECLARE v_look, v_2, v_3, v_4, v_5, v_6, v_7, v_8 DATE;

    IF in_old_token IS NULL THEN
        INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token, owner_conn,
                                 owner_epoch, owner_account, payload_hash, error, lease_until,
                                 created_at, updated_at, finished_at)
        VALUES (in_scope, in_key, in_day, in_biz_type, in_status, 1, in_token, CONNECTION_ID(),
                idem_epoch(), USER(), in_hash, in_error, in_lease_until, in_now, in_now,
                IF(in_status IN (1, 2), in_now, NULL));
    ELSE
        UPDATE idem.record r
           SET r.status = 0, r.attempt = r.attempt + 1, r.token = in_token,
               r.owner_conn = CONNECTION_ID(), r.owner_epoch = idem_epoch(),
               r.owner_account = USER(), r.payload_hash = COALESCE(r.payload_hash, in_hash),
               r.lease_until = in_lease_until, r.updated_at = in_now
         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = in_day
           AND r.token = in_old_token AND r.status = in_status;
        IF ROW_COUNT() = 0 THEN -- the token moves, so a match is a change under every client flag
            RETURN FALSE;
        END IF;
    END IF;

    SET v_look = idem_look_day(in_day, 0);
    WHILE v_look IS NOT NULL DO
        IF v_look > idem_today() THEN
            SELECT r.created_on INTO v_found FROM idem.record r
             WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = v_look;
            SET v_i = v_i + 1;
        ELSE
            SET v_2 = idem_look_day(in_day, v_i + 1);
            IF v_2 IS NOT NULL THEN
                SET v_3 = idem_look_day(in_day, v_i + 2), v_4 = idem_look_day(in_day, v_i + 3),
                    v_5 = idem_look_day(in_day, v_i + 4), v_6 = idem_look_day(in_day, v_i + 5),
                    v_7 = idem_look_day(in_day, v_i + 6), v_8 = idem_look_day(in_day, v_i + 7);
                SELECT MAX(r.created_on) INTO v_found FROM idem.record r
                 WHERE r.scope = in_scope AND r.idem_key = in_key
                   AND r.created_on IN (v_look, v_2, v_3, v_4, v_5, v_6, v_7, v_8)
                  LOCK IN SHARE MODE;
            ELSE
                SELECT r.created_on INTO v_found FROM idem.record r
                 WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = v_look
                  LOCK IN SHARE MODE;
            END IF;
            SET v_i = v_i + 8;
        END IF;
        IF v_found IS NOT NULL THEN
            SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, COLUMN_NAME = v_found,
                MESSAGE_TEXT = 'Duplicate entry: the key has a record in another day';
        END IF;
        SET v_look = idem_look_day(in_day, v_i);
    END WHILE;
    RETURN TRUE;
END$$
DELIMITER ;
