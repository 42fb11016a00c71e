DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._claim_row(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB,
    IN in_wait_ms BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: claim() for idem_claim(), which may say how long to wait. in_wait_ms NULL: idem_wait_ms.'
BEGIN
    -- @include core/claim.part.sql
    --   WAIT_MS=in_wait_ms
END$$
DELIMITER ;
