-- How many notes of lost records there were when a writer began, and the hash over them. Those of an
-- earlier version say nothing.
ALTER TABLE writer ADD COLUMN gaps INTEGER;
ALTER TABLE writer ADD COLUMN gap_hash BLOB;
