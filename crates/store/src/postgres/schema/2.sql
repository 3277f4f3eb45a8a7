-- Digests of the requests, the calls that records are part of and the agents of a finished block. Apart
-- from `posting`, of which a plan would read all to find them. Blocks that are finished are finished again.
CREATE TABLE digest (
  field BIGINT NOT NULL,
  block BIGINT NOT NULL,
  records BYTEA NOT NULL,
  PRIMARY KEY (field, block)
);
-- They have up to 4 KiB, and fit where they stand.
ALTER TABLE digest ALTER COLUMN records SET STORAGE PLAIN;
CREATE INDEX digest_block ON digest (block);
DELETE FROM block;
