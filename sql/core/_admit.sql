-- The first step of every call, for both doors: argument sizes and UTF-8 and the schema's version
-- (idem_check), access of the login account, binlog format. Raises, or answers the policy. It stores
-- nothing. SQL that comes through a UDF door skips the server's privilege checks, so this is the check.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._admit(
    IN in_routine VARCHAR(32),
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    OUT out_lease_seconds INT UNSIGNED,
    OUT out_on_expiry VARCHAR(8),
    OUT out_max_result_bytes INT UNSIGNED,
    OUT out_require_payload BOOLEAN,
    OUT out_observe BOOLEAN
)
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: checks arguments and access, answers the policy of biz_type. Errors 52001, 52005, 52006, 52007.'
BEGIN
    DECLARE v_version VARCHAR(255) DEFAULT NULL;
    DECLARE v_allowed BOOLEAN DEFAULT NULL;
    DECLARE v_counted VARCHAR(16);
    DECLARE v_text VARCHAR(512);

    SELECT m.value, (SELECT MIN(a.allowed) FROM idem.my_access a WHERE in_biz_type LIKE a.biz_type),
           COALESCE(p.lease_seconds, idem_setting('lease_seconds')), COALESCE(p.on_expiry, 'retry'),
           COALESCE(p.max_result_bytes, idem_setting('max_result_bytes')),
           COALESCE(p.require_payload, FALSE), COALESCE(p.observe, FALSE)
      INTO v_version, v_allowed, out_lease_seconds, out_on_expiry, out_max_result_bytes,
           out_require_payload, out_observe
      FROM idem.meta m LEFT JOIN idem.policy p ON p.biz_type = in_biz_type
     WHERE m.name = 'version'
       AND idem_check(in_routine, m.value, @@character_set_results, in_biz_type, in_key);
    IF v_version IS NULL THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005,
            MESSAGE_TEXT = 'idem: the installation is incomplete; run install.sql';
    END IF;
    IF COALESCE(v_allowed, 0) = 0 AND idem_setting('access_control') THEN
        SET v_counted = idem_count('ACCESS_DENIED'),
            v_text = CONCAT('idem.', in_routine, ': account ', USER(),
                            ' may not use this biz_type; an operator can CALL idem.allow');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52007, MESSAGE_TEXT = v_text;
    END IF;
    IF @@binlog_format = 'STATEMENT' AND @@log_bin AND @@sql_log_bin THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006,
            MESSAGE_TEXT = 'idem: binlog_format STATEMENT would let replicas diverge; use ROW or MIXED';
    END IF;
END$$
DELIMITER ;
