    -- 1205: somebody holds it. With innodb_rollback_on_timeout the transaction has gone with it, and the caller
    -- hears just that.
    DECLARE CONTINUE HANDLER FOR 1205
    BEGIN
        IF @@innodb_rollback_on_timeout THEN
            RESIGNAL;
        END IF;
        SET {ANSWER};
    END;
