-- Maintenance without idemd: the same procedures, run by the server's event scheduler. Run this file
-- once on the primary (mariadb < events.sql), and keep the scheduler on in my.cnf: event_scheduler = ON.
--
-- idemd is the better choice where there is more than one server: events are disabled on replicas and
-- stay so after a fail-over until somebody enables them, nobody notices when they stop, their errors go
-- to the error log only, and they start on their minute whatever else runs. idemd follows the writable
-- server, backs off, and shows what it does on /metrics and /healthz. Both together do no harm.
CREATE EVENT IF NOT EXISTS idem.ensure_partitions ON SCHEDULE EVERY 1 MINUTE
    COMMENT 'idem: today and the days ahead exist'
    DO CALL idem.ensure_partitions();
CREATE EVENT IF NOT EXISTS idem.reap ON SCHEDULE EVERY 10 SECOND
    COMMENT 'idem: expired leases'
    DO CALL idem.reap();
CREATE EVENT IF NOT EXISTS idem.seal_days ON SCHEDULE EVERY 10 MINUTE
    COMMENT 'idem: days that are over take no new records'
    DO CALL idem.seal_days();
CREATE EVENT IF NOT EXISTS idem.drop_expired ON SCHEDULE EVERY 10 MINUTE
    COMMENT 'idem: days past their retention'
    DO CALL idem.drop_expired();
