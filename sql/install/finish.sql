CALL idem.ensure_partitions();
-- The installing account may use every biz_type; everybody else needs a CALL idem.allow.
INSERT IGNORE INTO idem.access (user, host, biz_type, allowed, updated_at, updated_by)
SELECT LEFT(USER(), CHAR_LENGTH(USER()) - 1 - CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1))),
       SUBSTRING_INDEX(USER(), '@', -1), '%', TRUE,
       TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND, USER();
-- Last, so that an installation that stopped half-way says so (52005) instead of half working.
REPLACE INTO idem.meta (name, value) VALUES ('version', '@PROJECT_VERSION@');
COMMIT; -- autocommit may be off
