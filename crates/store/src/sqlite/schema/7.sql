-- Finished blocks know which of their records are calls, so that these are counted without being read. Those
-- that are there are finished again.
DELETE FROM block;
