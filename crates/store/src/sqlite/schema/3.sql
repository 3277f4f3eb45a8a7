-- What was said in words; it was in `rest`, which keeps facts alone now.
ALTER TABLE activity ADD COLUMN words TEXT;

-- Who wrote a record, which of its records it is, the salts of its commitments, and the hash that
-- ties it to the record before. What an earlier version wrote has none of these.
ALTER TABLE activity ADD COLUMN writer INTEGER;
ALTER TABLE activity ADD COLUMN number INTEGER;
ALTER TABLE activity ADD COLUMN salts BLOB;
ALTER TABLE activity ADD COLUMN hash BLOB;

-- Everybody who ever wrote, and where the one before had got to.
CREATE TABLE writer (
  writer INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE, -- random
  begun INTEGER NOT NULL, -- milliseconds since 1970, UTC
  after_name BLOB NOT NULL, -- nothing for the first
  after_number INTEGER NOT NULL,
  after_hash BLOB NOT NULL
);

-- How far a chain had got, signed: the last that is known, and the last that was dropped.
CREATE TABLE checkpoint (
  writer INTEGER NOT NULL,
  pruned INTEGER NOT NULL,
  number INTEGER NOT NULL,
  hash BLOB NOT NULL,
  at INTEGER NOT NULL, -- milliseconds since 1970, UTC
  key BLOB NOT NULL,
  signature BLOB NOT NULL,
  PRIMARY KEY (writer, pruned)
) WITHOUT ROWID;
