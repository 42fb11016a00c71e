CREATE DATABASE IF NOT EXISTS shop;
CREATE TABLE shop.orders (
    id BIGINT PRIMARY KEY,
    status VARCHAR(20) NOT NULL,
    paid_by VARCHAR(20) NULL
);
CALL idem.define_machine('order', 'shop', 'orders', 'id', 'status',
    '{"NEW": ["PAID", "CANCELLED"], "PAID": ["SHIPPED"]}');
INSERT INTO shop.orders VALUES (42, 'NEW', NULL);

-- The payment provider calls back.
CALL idem.transition('order', 42, 'PAID', '{"paid_by": "card"}', @outcome, @state);
SELECT @outcome, @state;
-- => APPLIED | PAID

-- It calls back again, because our answer got lost: nothing is written.
CALL idem.transition('order', 42, 'PAID', '{"paid_by": "card"}', @outcome, @state);
SELECT @outcome, @state;
-- => ALREADY | PAID

-- The customer, on an old page, presses "cancel": there is no way from PAID.
CALL idem.transition('order', 42, 'CANCELLED', NULL, @outcome, @state);
SELECT @outcome, @state;
-- => ILLEGAL | PAID

CALL idem.transition('order', 43, 'PAID', NULL, @outcome, @state);
SELECT @outcome, @state;
-- => MISSING | NULL
