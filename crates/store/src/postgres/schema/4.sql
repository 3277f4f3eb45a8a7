-- Which records of a writer lost their words, signed: their places in its chain, each with what its facts
-- were committed to.
CREATE TABLE redaction (
  writer BIGINT NOT NULL,
  last BIGINT NOT NULL,
  records BYTEA NOT NULL,
  at BIGINT NOT NULL, -- milliseconds since 1970, UTC
  key BYTEA NOT NULL,
  signature BYTEA NOT NULL
);
CREATE INDEX redaction_last ON redaction (writer, last);
