-- Reads everything and keeps nothing: the records stream by in the order of their primary key, which all
-- days share, so the same key in two days comes one after the other; the filter of one day at a time is
-- held. A row that a look by its own full key does not find is in a partition where no claim looks.
--
-- One statement reads records, live_day and the partitions. It keeps others from changing partitions
-- from its first moment on, and live_day is written before a partition is made and after one is dropped:
-- so a partition that is not listed is a fault, never a day that is just being made. Filters are read
-- before: a sealed day takes no key after its seal, so what they miss they have missed from the start.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.verify()
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Proves that the records are as claims expect them. Answers one row per fault, none when all is well: kind,
day, biz_type, idem_key, detail. Kinds:
key in two days: the action may have been carried out twice.
row in a wrong partition, row of a day not listed: claims do not see it.
partition not listed: its rows, old and new, are not seen. partition without a day: covers more than days.
day without partition: takes no claims if it is today (for a moment, also a day that is being dropped).
filter misses keys: claims of these keys do not see them (one row a day; idem_key is the first of them).
filter is damaged, filter of an open day, filter of no day: not used, or not to be used.

Changes nothing, waits for no lock and runs on a replica as well, the best place for it: it reads all
records, and partitions cannot be made or dropped meanwhile. Errors: 52006 inside a transaction, whose
snapshot may be older than the partitions.

Example: CALL idem.verify();
'
BEGIN
    DECLARE v_day DATE DEFAULT '1000-01-01';
    DECLARE v_last DATE;
    DECLARE v_filter LONGBLOB;
    DECLARE v_sealed BOOLEAN;
    DECLARE v_misses BIGINT UNSIGNED;
    DECLARE v_scope VARBINARY(64);
    DECLARE v_key VARBINARY(255);
    DECLARE v_biz_type VARBINARY(64);
    DECLARE v_kind VARCHAR(32) CHARACTER SET utf8mb4;
    DECLARE v_filters LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[]';

    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006, MESSAGE_TEXT =
            'idem.verify: a transaction is open, and its snapshot may be older than the partitions';
    END IF;
    filters: LOOP
        SET v_last = v_day, v_day = NULL, v_kind = NULL, v_misses = 0, v_key = NULL, v_biz_type = NULL;
        SELECT s.day, s.filter, l.sealed INTO v_day, v_filter, v_sealed
          FROM idem.sealed_day s LEFT JOIN idem.live_day l ON l.day = s.day
         WHERE s.day > v_last ORDER BY s.day LIMIT 1;
        COMMIT; -- autocommit may be off
        IF v_day IS NULL THEN
            -- The end? A KILL can make MariaDB answer with no row, and go on; a COUNT is never lost so.
            SELECT COUNT(*) INTO v_misses FROM idem.sealed_day s WHERE s.day > v_last;
            COMMIT;
            IF v_misses = 0 THEN
                LEAVE filters;
            END IF;
            SET v_day = v_last;
            ITERATE filters;
        END IF;
        IF v_sealed IS NULL THEN
            SET v_kind = 'filter of no day';
        ELSEIF NOT v_sealed THEN
            SET v_kind = 'filter of an open day';
        ELSEIF v_filter IS NOT NULL AND idem_filter_has(v_filter, v_day, '', '') IS NULL THEN
            SET v_kind = 'filter is damaged';
        ELSE
            -- What is not committed is no fault, whatever the session likes to read.
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            SELECT COUNT(*) INTO v_misses FROM idem.record r
             WHERE r.created_on = v_day AND idem_filter_has(v_filter, v_day, r.scope, r.idem_key) = 0;
            IF v_misses > 0 THEN
                SELECT r.biz_type, r.idem_key INTO v_biz_type, v_key FROM idem.record r
                 WHERE r.created_on = v_day AND idem_filter_has(v_filter, v_day, r.scope, r.idem_key) = 0
                 ORDER BY r.scope, r.idem_key LIMIT 1;
                SET v_kind = 'filter misses keys';
            END IF;
            COMMIT;
        END IF;
        IF v_kind IS NOT NULL THEN
            SET v_filters = JSON_ARRAY_APPEND(v_filters, '$',
                JSON_OBJECT('kind', v_kind, 'day', v_day, 'biz_type', HEX(v_biz_type), 'key', HEX(v_key),
                            'misses', v_misses + 0));
        END IF;
    END LOOP;
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
    SELECT 'partition not listed' AS kind, d.day, NULL AS biz_type, NULL AS idem_key,
           CONCAT('partition ', d.partition_name, ': CALL idem.ensure_partitions()') AS detail
      FROM idem.day d LEFT JOIN idem.live_day l ON l.day = d.day
     WHERE d.day IS NOT NULL AND l.day IS NULL
     UNION ALL
    SELECT 'partition without a day', NULL, NULL, NULL,
           CONCAT('partition ', d.partition_name, ' has no upper bound: CALL idem.ensure_partitions()')
      FROM idem.day d WHERE d.day IS NULL
     UNION ALL
    SELECT 'day without partition', l.day, NULL, NULL,
           IF(l.day < idem_today(), 'CALL idem.drop_expired() when its retention is over',
              'CALL idem.ensure_partitions()')
      FROM idem.live_day l LEFT JOIN idem.day d ON d.day = l.day
     WHERE d.day IS NULL
     UNION ALL
    SELECT j.kind, j.day, CONVERT(UNHEX(j.biz_type) USING utf8mb4), CONVERT(UNHEX(j.idem_key) USING utf8mb4),
           IF(j.misses > 0, CONCAT(j.misses, ' keys, the first of them; DELETE FROM idem.sealed_day and seal anew'),
              'DELETE FROM idem.sealed_day WHERE day = this day; CALL idem.seal_days()')
      FROM JSON_TABLE(v_filters, '$[*]' COLUMNS (
               kind VARCHAR(32) PATH '$.kind', day DATE PATH '$.day', biz_type VARCHAR(128) PATH '$.biz_type',
               idem_key VARCHAR(510) PATH '$.key', misses BIGINT UNSIGNED PATH '$.misses')) j
     UNION ALL
    SELECT IF(s.scope IS NULL, 'row in a wrong partition', 'row of a day not listed'), r.created_on,
           CONVERT(r.biz_type USING utf8mb4), CONVERT(r.idem_key USING utf8mb4),
           IF(r.scope = '', 'claim', CONCAT('event of consumer ', CONVERT(r.scope USING utf8mb4)))
      FROM idem.record r FORCE INDEX (PRIMARY)
      LEFT JOIN idem.live_day l ON l.day = r.created_on
      LEFT JOIN idem.record s FORCE INDEX (PRIMARY)
             ON s.scope = r.scope AND s.idem_key = r.idem_key AND s.created_on = r.created_on
     WHERE l.day IS NULL OR s.scope IS NULL
     UNION ALL
    SELECT 'key in two days', MIN(r.created_on), CONVERT(MIN(r.biz_type) USING utf8mb4),
           CONVERT(r.idem_key USING utf8mb4),
           CONCAT(IF(r.scope = '', 'claim', CONCAT('event of consumer ', CONVERT(r.scope USING utf8mb4))),
                  ', ', COUNT(*), ' rows, the last of ', MAX(r.created_on))
      FROM idem.record r FORCE INDEX (PRIMARY)
     GROUP BY r.scope, r.idem_key
    HAVING COUNT(*) > 1;
    COMMIT; -- with autocommit off the table would stay held
END$$
DELIMITER ;
