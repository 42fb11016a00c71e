DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.claim(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Claims the right to carry out one action. Inside a transaction the claim commits or vanishes with it;
in autocommit it is a lease of its own.

in_biz_type: who uses the key, 1-64 bytes of UTF-8, not blank. in_key: 1-255 bytes, compared as bytes.
in_payload: NULL (not compared), JSON (compared by meaning) or anything else (compared as bytes).

Answers one row. state CLAIMED, RECLAIMED: do the work, then finish with token. DONE, FAILED: result or
error of the first run. IN_PROGRESS: try again after retry_after_ms. UNKNOWN: an operator decides.
Errors: 52001, 52002 key held by another biz_type, 52003 other payload, 52005, 52006, 52007; 1213 and
1020 (the transaction is gone). Waits up to idem_wait_ms, holding no lock on the key.

Example: CALL idem.claim(''payment'', ''order-42'', ''{"amount":10}'');
'
BEGIN
    -- @include core/claim.part.sql
    --   WAIT_MS=NULL
END$$
DELIMITER ;
