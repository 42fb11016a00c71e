-- A worker ships order 42. Its claim has a lease; if the worker is slow, another one takes over with a
-- later token, and this one must not touch the order any more.
CALL idem.claim_into('ship', 'order-42', NULL, 0, @claim, @token, @detail);
SELECT @claim;
-- => CLAIMED

START TRANSACTION;
CALL idem.transition_fenced('order', 42, 'SHIPPED', NULL, 'ship', 'order-42', @token, @outcome, @state);
CALL idem.finish('ship', 'order-42', @token, '{"parcel": "P-1"}');
COMMIT;
SELECT @outcome, @state;
-- => APPLIED | SHIPPED

-- The slow one comes too late: error 52004, and its transaction has changed nothing.
START TRANSACTION;
CALL idem.transition_fenced('order', 42, 'SHIPPED', NULL, 'ship', 'order-42', @token - 1, @outcome, @state);
-- => error 52004
ROLLBACK;
