-- Finished blocks have a digest of the sessions of the protocol that records under a hook's session name.
-- Those that are there are finished again.
DELETE FROM block;
