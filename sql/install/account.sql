CREATE DATABASE IF NOT EXISTS idem DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
-- The definer of every routine: it owns schema idem and nothing else, and nobody can log in as it.
CREATE USER IF NOT EXISTS idem@localhost ACCOUNT LOCK;
ALTER USER idem@localhost ACCOUNT LOCK;
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, EXECUTE, TRIGGER, SHOW VIEW
   ON idem.* TO idem@localhost;
CREATE ROLE IF NOT EXISTS idem_app;
CREATE ROLE IF NOT EXISTS idem_operator;
