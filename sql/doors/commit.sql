DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.commit(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_result LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
finish() and COMMIT in one call. Answers one row, state DONE, once the commit is through.

Parameters and errors as in finish(). With 52004 (the claim is not yours any more) the transaction has
been rolled back: a stale worker''s writes must not be committed. With every other error it is as open as
after any failed statement.

Example: CALL idem.commit(''payment'', ''order-42'', NULL, ''{"receipt":7}'');
'
BEGIN
    DECLARE EXIT HANDLER FOR 52004
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        RESIGNAL;
    END;
    -- @include core/finish.part.sql
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT 'DONE' AS state;
END$$
DELIMITER ;
