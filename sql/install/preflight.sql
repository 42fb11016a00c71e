-- Installs idem @PROJECT_VERSION@ or brings an older installation up to it. Safe to run twice. Run it as an
-- account with all privileges: mariadb < install.sql
--
-- The library part is kept out of the binlog and of Galera's replication: a server without the library would
-- stop at it. So run install-library.sql on each replica or node, then install.sql on the primary or on one
-- node; the schema goes to the others by itself.
--
-- Routines keep the sql_mode and character set of the session that creates them, so these are not the
-- client's.
SET NAMES utf8mb4;
SET @idem_sql_mode = @@SESSION.sql_mode, SESSION sql_mode =
    'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION';
DELIMITER $$
BEGIN NOT ATOMIC
    DECLARE v_text VARCHAR(512);

    IF VERSION() NOT LIKE '%MariaDB%'
       OR CAST(SUBSTRING_INDEX(VERSION(), '.', 1) AS UNSIGNED) * 1000
          + CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '.', 2), '.', -1) AS UNSIGNED) < 10011 THEN
        SET v_text = CONCAT('idem needs MariaDB 10.11 or later; this server is ', VERSION());
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
    END IF;
    IF @@plugin_maturity = 'stable' THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT =
            'plugin_maturity is stable, and idem is gamma: set plugin_maturity=gamma in my.cnf and restart';
    END IF;
    IF (SELECT COUNT(DISTINCT privilege_type) FROM information_schema.user_privileges
         WHERE privilege_type IN ('CREATE USER', 'INSERT', 'DELETE', 'UPDATE', 'SET USER', 'SUPER')
           AND grantee IN (CONCAT("'", REPLACE(CURRENT_USER(), '@', "'@'"), "'"),
                           CONCAT("'", CURRENT_ROLE(), "'@''"))) < 6 THEN
        SET v_text = CONCAT('installing idem needs CREATE USER, SET USER, SUPER and all rights on mysql.*;'
                            ' account ', CURRENT_USER(), ' lacks some of them');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
    END IF;
    IF @@innodb_page_size < 16384 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT =
            'innodb_page_size is less than 16k: keys of idem.access would not fit';
    END IF;
    IF @@log_bin AND @@binlog_format = 'STATEMENT' THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005,
            MESSAGE_TEXT = 'binlog_format is STATEMENT: idem needs ROW or MIXED';
    END IF;
END$$
DELIMITER ;
