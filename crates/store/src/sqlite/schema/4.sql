-- Finished blocks have digests of requests, of the calls that records are part of and of agents: rows of
-- `posting` under no value. Those that are there are finished again.
DELETE FROM block;
