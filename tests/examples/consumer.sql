-- Inbox and version guard in one call: "billing" takes event evt-1001, which is booking 4 of account 7.
CALL idem.consume_and_apply('billing', 'evt-1001', 'balance', 7, 4, '{"cents": {"$add": 100}}', @outcome);
SELECT @outcome;
-- => APPLIED

CALL idem.consume_and_apply('billing', 'evt-1001', 'balance', 7, 4, '{"cents": {"$add": 100}}', @outcome);
SELECT @outcome;
-- => DUPLICATE
