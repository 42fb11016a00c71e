CREATE DATABASE IF NOT EXISTS crm;
CREATE TABLE crm.customer (
    id BIGINT PRIMARY KEY,
    version BIGINT UNSIGNED NOT NULL,
    name VARCHAR(80) NOT NULL,
    email VARCHAR(80) NULL
);
CALL idem.define_projection('customer', 'crm', 'customer', 'id', 'version', 'snapshot');

CALL idem.apply_snapshot('customer', 7, 7, '{"name": "Ada", "email": "ada@example.com"}', @outcome);
SELECT @outcome;
-- => INSERTED

-- An older event, under way for longer: it does not overwrite the newer one.
CALL idem.apply_snapshot('customer', 7, 5, '{"name": "A.", "email": null}', @outcome);
SELECT @outcome;
-- => STALE

CALL idem.apply_snapshot('customer', 7, 7, '{"name": "Ada", "email": "ada@example.com"}', @outcome);
SELECT @outcome;
-- => DUPLICATE

-- Two contents under one version: a fault of the producer. Nothing is written.
CALL idem.apply_snapshot('customer', 7, 7, '{"name": "Eve", "email": "ada@example.com"}', @outcome);
SELECT @outcome;
-- => CONFLICT

CALL idem.apply_snapshot('customer', 7, 8, '{"name": "Ada", "email": null}', @outcome);
SELECT @outcome;
-- => UPDATED

-- Somebody edits the row by hand, having read version 8.
CALL idem.compare_and_set('customer', 7, 8, '{"name": "Ada Lovelace"}', @outcome);
SELECT @outcome;
-- => APPLIED

-- Somebody else had read version 8 too.
CALL idem.compare_and_set('customer', 7, 8, '{"name": "A. Lovelace"}', @outcome);
SELECT @outcome;
-- => CONFLICT
