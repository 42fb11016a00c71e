-- Unique across days. The primary key alone would accept a key once per day, because it must contain
-- the partition column. So an insert looks at every other live day, in the same statement: if the key
-- is there, or locked there, the statement fails and takes the new row back with it. Nothing between
-- row and look can be killed, crash or commit on its own.
--
-- Why it is enough: of two sessions that insert the same key into different days each has its row in
-- place before it looks, and looks with a locking read, so at least one meets the other's row. A day
-- is read from idem_today() before the insert and again here: if midnight passed in between, the new
-- day is looked at too; a session that reads the new day only after this look inserts after it, and
-- meets this row.
--
-- Why a join and not a range: a range scan over (scope, idem_key, created_on < x) would lock the next
-- key as well, and a look at all partitions would lock the gaps of days to come, where everybody
-- inserts after midnight. Point reads lock nothing but the key's own place in days that are over.
--
-- Tomorrow: only a server whose clock was ahead can have put the key there (before a fail-over to this
-- one, or a restart with the clock set back; while a server runs idem_today() never goes back). Those
-- rows are committed, so a plain read finds them without locking tomorrow's gaps. Done in the last two
-- hours of the day: the clock difference that is covered.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost TRIGGER idem.record_look AFTER INSERT ON idem.record
FOR EACH ROW
BEGIN
    DECLARE v_found DATE DEFAULT NULL;
    DECLARE v_today DATE DEFAULT idem_today();

    SELECT r.created_on INTO v_found
      FROM (SELECT l.day FROM idem.live_day l
             WHERE l.day <= v_today AND l.day <> NEW.created_on) d
      STRAIGHT_JOIN idem.record r
     WHERE r.scope = NEW.scope AND r.idem_key = NEW.idem_key AND r.created_on = d.day
     LIMIT 1
      LOCK IN SHARE MODE;
    IF v_found IS NULL AND idem_now_us() MOD 86400000000 >= 79200000000 THEN
        SELECT r.created_on INTO v_found FROM idem.record r
         WHERE r.scope = NEW.scope AND r.idem_key = NEW.idem_key
           AND r.created_on = v_today + INTERVAL 1 DAY;
    END IF;
    IF v_found IS NOT NULL THEN
        -- COLUMN_NAME tells idem._claim the day: the server leaves it empty in its own 1062.
        SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, COLUMN_NAME = v_found,
            MESSAGE_TEXT = 'Duplicate entry: the key has a record in another day';
    END IF;
END$$
DELIMITER ;
