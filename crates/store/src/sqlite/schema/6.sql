-- Which records of a writer lost their words, signed: their places in its chain, each with what its facts
-- were committed to.
CREATE TABLE redaction (
  writer INTEGER NOT NULL,
  last INTEGER NOT NULL,
  records BLOB NOT NULL,
  at INTEGER NOT NULL, -- milliseconds since 1970, UTC
  key BLOB NOT NULL,
  signature BLOB NOT NULL
);
CREATE INDEX redaction_last ON redaction (writer, last);
