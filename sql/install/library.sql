-- MariaDB 11: a session that first writes to the binlog with wsrep_on = 0 sends events, once it is on again, that
-- no other node can read: they leave the cluster. The snapshot sets the session up for Galera before that.
START TRANSACTION WITH CONSISTENT SNAPSHOT;
COMMIT;
SET @idem_log_bin = @@SESSION.sql_log_bin, SESSION sql_log_bin = 0;
SET @idem_wsrep_on = @@SESSION.wsrep_on AND @@wsrep_provider NOT IN ('', 'none'), SESSION wsrep_on = 0;
DELIMITER $$
BEGIN NOT ATOMIC
    DECLARE v_text VARCHAR(512);
    DECLARE EXIT HANDLER FOR 1126
    BEGIN
        GET DIAGNOSTICS CONDITION 1 v_text = MESSAGE_TEXT;
        SET v_text = CONCAT('idem.so is not in plugin_dir (', @@plugin_dir, ') or does not load: ', v_text);
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
    END;
    INSTALL PLUGIN IF NOT EXISTS idem SONAME 'idem';
    -- UNINSTALL leaves it loaded until every session that was connected meanwhile has gone, and takes
    -- it away then: an installation on top of that would end with the last of them.
    IF NOT EXISTS (SELECT 1 FROM information_schema.plugins
                    WHERE plugin_name = 'idem' AND plugin_status = 'ACTIVE') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT =
            'an earlier UNINSTALL of idem waits for sessions connected before it: end them, then run install.sql again';
    END IF;
END$$
DELIMITER ;
CREATE OR REPLACE FUNCTION idem_now_us RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_today RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_token RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_epoch RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_payload_hash RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_key RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_backoff_ms RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_retryable RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_version RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_stats RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_setting RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_count RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_ack RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_check RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_admit RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_claim_plan RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_taken RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_settle_plan RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_settled RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_refused RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_policy RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_reload RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_galera RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_claim_day RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_look_days RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE AGGREGATE FUNCTION idem_filter_build RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_filter_has RETURNS INTEGER SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_claim RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_finish RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_fail RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_release RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_renew RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_checkpoint RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_peek RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_consume RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_consume_many RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_begin RETURNS STRING SONAME 'idem.so';
CREATE OR REPLACE FUNCTION idem_commit RETURNS STRING SONAME 'idem.so';
SET SESSION wsrep_on = @idem_wsrep_on, SESSION sql_log_bin = @idem_log_bin;
DELIMITER $$
BEGIN NOT ATOMIC
    IF @idem_wsrep_on AND NOT idem_galera() THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005,
            MESSAGE_TEXT = 'this is a Galera node, and idem.so cannot tell: build it for this server version';
    END IF;
END$$
DELIMITER ;
