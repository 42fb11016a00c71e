-- Taking a key and looking at the other days, as one statement.
--
-- The primary key alone would accept a key once per day, because it must contain the partition column.
-- So whoever takes a key also looks for it in every other day that may hold it. Being a function, row and
-- look are one statement of the caller: when the key is found elsewhere, is locked there, or the call is
-- killed or crashes on the way, the row goes back with the statement, in autocommit too. Nothing is ever
-- committed that was not looked for.
--
-- Why it is enough: of two sessions that put the same key into different days each has its row in place
-- before it looks, and looks with a locking read, so at least one meets the other's row. Once the row is in
-- place the day is read again, and the row is taken back (1526) when claims go to a later one by now: a
-- session that gets the later day after this inserts after it, and meets our row. That is also what sealing
-- rests on (see seal_days): nothing comes into a day behind its back.
--
-- idem_look_days() leaves out the sealed days whose filter says that the key is certainly not there.
--
-- No plain reads: they may be too old, when the transaction began while this server still was a replica, and
-- they open a snapshot, for which innodb_snapshot_isolation makes the caller pay later (1020). And no locking
-- read of a day that others insert into: it locks a gap there for the whole transaction, and every new key
-- that falls into it would be told IN_PROGRESS.
--
-- Tomorrow: only a server whose clock was ahead can have put the key there (before a fail-over to this
-- one, or a restart with the clock set back; while a server runs its day never goes back). It is looked at
-- in the last two hours of a day, the clock difference covered: a row put there and taken back meets what is
-- there and locks no gap.
--
-- Galera: the lock of a row, and so the look, does not meet transactions of other nodes that have not been
-- applied here yet. Keys of rows written do: of two transactions that wrote the same primary key on two
-- nodes one fails (1213). The record's own key has the day in it, so the key alone is written too, as a row
-- of galera_guard that is gone again at once. Another node's claim of the key in whatever day was then
-- either applied here before that, and the look finds it, or one of the two does not commit. Rows for
-- tomorrow may come in while this transaction runs.
--
-- Point reads only: a range over (scope, idem_key, created_on) would lock the next key as well, and an
-- IN list is read as one range per day in each of the days.
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
says (empty in the server''s own 1062). 1205: somebody holds it. 1526: no partition, or claims go to
another day by now. Not deterministic; said so because with the binlog on the server would refuse the
function otherwise (it is logged as rows).
'
BEGIN
    DECLARE v_found DATE DEFAULT NULL;
    DECLARE v_look LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_tomorrow DATE;
    DECLARE v_open_day DATE DEFAULT NULL;
    DECLARE v_over BOOLEAN DEFAULT FALSE;

    IF in_old_token IS NULL THEN
        INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token, owner_conn,
                                 owner_epoch, owner_account, payload_hash, error, lease_until,
                                 created_at, updated_at, finished_at)
        VALUES (in_scope, in_key, in_day, in_biz_type, in_status, 1, in_token, CONNECTION_ID(),
                idem_epoch(), USER(), in_hash, in_error, in_lease_until, in_now, in_now,
                IF(in_status IN (1, 2), in_now, NULL));
        SET v_over = idem_claim_day() <> in_day;
        IF idem_galera() THEN
            INSERT INTO idem.galera_guard (scope, idem_key) VALUES (in_scope, in_key);
            DELETE FROM idem.galera_guard WHERE scope = in_scope AND idem_key = in_key;
        END IF;
    END IF;

    SET v_look = idem_look_days(in_scope, in_key, in_day);
    IF LENGTH(v_look) = 14 AND in_old_token IS NULL THEN -- ["YYYY-MM-DD"]: mostly yesterday, not sealed yet
        SELECT r.created_on INTO v_found FROM idem.record r
         WHERE r.scope = in_scope AND r.idem_key = in_key
           AND r.created_on = CAST(SUBSTRING(v_look, 3, 10) AS DATE)
          LOCK IN SHARE MODE;
    ELSEIF v_look IS NOT NULL THEN
        -- The row of an older day that is taken over was met by an insert into the day that claims go to,
        -- so nothing stays there; and who comes there later meets that row.
        IF in_old_token IS NOT NULL THEN
            SET v_open_day = idem_claim_day();
        END IF;
        SELECT r.created_on INTO v_found
          FROM JSON_TABLE(v_look, '$[*]' COLUMNS (day DATE PATH '$')) d
          STRAIGHT_JOIN idem.record r
         WHERE r.scope = in_scope AND r.idem_key = in_key AND r.created_on = d.day
           AND NOT d.day <=> v_open_day
         LIMIT 1
          LOCK IN SHARE MODE;
    END IF;
    -- The day behind the record's own, not behind today: midnight may have passed since the look. A row that
    -- is taken over was there before tomorrow's first one, whose claim has met it.
    SET v_tomorrow = in_day + INTERVAL 1 DAY;
    IF v_found IS NULL AND in_old_token IS NULL
       AND DATE(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() + @IDEM_CLOCK_SKEW_US@ MICROSECOND)
           >= v_tomorrow THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1062 SET v_found = v_tomorrow;
            DECLARE CONTINUE HANDLER FOR 1526 SET v_tomorrow = NULL; -- no partition, no row
            INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,
                                     owner_conn, owner_epoch, owner_account, created_at, updated_at)
            VALUES (in_scope, in_key, v_tomorrow, in_biz_type, 0, 0, in_token, 0, 0, '', in_now, in_now);
        END;
        IF v_found IS NULL THEN
            DELETE FROM idem.record
             WHERE scope = in_scope AND idem_key = in_key AND created_on = v_tomorrow;
        END IF;
    END IF;
    IF (v_over OR v_found IS NOT NULL) AND in_old_token IS NULL THEN
        -- Where the caller is a trigger or function, the server takes nothing back when it catches this
        -- error, only when its whole statement fails.
        DELETE FROM idem.record
         WHERE scope = in_scope AND idem_key = in_key AND created_on = in_day AND token = in_token;
    END IF;
    IF v_over THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1526,
            MESSAGE_TEXT = 'idem: the day is over; claims go to a later one';
    END IF;
    IF v_found IS NOT NULL THEN
        SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, COLUMN_NAME = v_found,
            MESSAGE_TEXT = 'Duplicate entry: the key has a record in another day';
    END IF;
    IF in_old_token IS NOT NULL THEN
        -- Last, so that there is nothing to take back; the row was in place before the look anyway.
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
    RETURN TRUE;
END$$
DELIMITER ;
