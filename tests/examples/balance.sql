CREATE DATABASE IF NOT EXISTS bank;
CREATE TABLE bank.account (
    id BIGINT PRIMARY KEY,
    version BIGINT UNSIGNED NOT NULL,
    cents BIGINT NOT NULL DEFAULT 0
);
CALL idem.define_projection('balance', 'bank', 'account', 'id', 'version', 'delta');

-- Bookings 1, 3, 2 of account 7, in the order in which the network delivers them.
CALL idem.apply_delta('balance', 7, 1, '{"cents": {"$add": 1000}}', @outcome, @expected);
SELECT @outcome, @expected;
-- => APPLIED | 2

-- Booking 2 is missing. Nothing was kept: let the broker deliver 3 again later.
CALL idem.apply_delta('balance', 7, 3, '{"cents": {"$add": -250}}', @outcome, @expected);
SELECT @outcome, @expected;
-- => GAP | 2

-- Or let idem keep what comes too early.
CALL idem.set_projection('balance', NULL, TRUE, NULL);
CALL idem.apply_delta('balance', 7, 3, '{"cents": {"$add": -250}}', @outcome, @expected);
SELECT @outcome, @expected;
-- => PARKED | 2

-- Booking 2 closes the gap, and 3 is applied with it.
CALL idem.apply_delta('balance', 7, 2, '{"cents": {"$add": 500}}', @outcome, @expected);
SELECT @outcome, @expected;
-- => APPLIED | 4

-- Delivered once more: nothing happens.
CALL idem.apply_delta('balance', 7, 2, '{"cents": {"$add": 500}}', @outcome, @expected);
SELECT @outcome, @expected;
-- => DUPLICATE | 4

SELECT version, cents FROM bank.account WHERE id = 7;
-- => 3 | 1250

-- Which events have been waiting for an hour, and for which version?
CALL idem.show_parked(3600, 20);
