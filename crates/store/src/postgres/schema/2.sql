-- Finished blocks have digests of requests, of the calls that records are part of and of agents: rows of
-- `posting` under no value. Those that are there are finished again.
DELETE FROM block;
-- A digest has up to 4 KiB, and fits where it stands.
ALTER TABLE posting ALTER COLUMN records SET STORAGE PLAIN;
