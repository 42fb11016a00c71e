DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._task_end(
    IN in_name VARCHAR(64) CHARACTER SET utf8mb4,
    IN in_outcome LONGTEXT CHARACTER SET utf8mb4,
    IN in_error_number INT UNSIGNED,
    IN in_error TEXT CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: notes in idem.task how a task ended. With an error the caller is about to pass that error on, so
whatever goes wrong here (a read-only server, a full disk) must not hide it.
'
BEGIN
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION
    BEGIN
        IF in_error_number IS NULL THEN
            RESIGNAL;
        END IF;
    END;

    ROLLBACK; -- nothing unless a statement of the task failed half-way
    -- The row is there. No UPDATE: a KILL can make MariaDB 11 answer that it matched nothing, and go on.
    INSERT INTO idem.task (name, runs, failures, started_at, account) VALUES (in_name, 1, 0, v_now, USER())
        ON DUPLICATE KEY UPDATE
            ended_at = v_now,
            duration_us = GREATEST(0, TIMESTAMPDIFF(MICROSECOND, started_at, v_now)),
            failures = IF(in_error_number IS NULL, 0, failures + 1),
            succeeded_at = IF(in_error_number IS NULL, v_now, succeeded_at),
            outcome = IF(in_error_number IS NULL, in_outcome, outcome),
            error_number = in_error_number, error = in_error;
    COMMIT;
END$$
DELIMITER ;
