CREATE TABLE IF NOT EXISTS idem.machine_state (
    machine VARBINARY(64) NOT NULL,
    state VARBINARY(255) NOT NULL,
    reachable_from JSON NOT NULL COMMENT 'array of states; empty for a first state',
    PRIMARY KEY (machine, state)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT = 'State machines: the states, and from where each may be entered';
