-- The same tables as in SQLite. Records are kept in partitions by time, made as they are needed;
-- who adds records moves the place, so that no record is seen before one with a lower place.
CREATE TABLE activity (
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL, -- milliseconds since 1970, UTC
  id BYTEA NOT NULL, -- the call's ULID
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  server_name TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  method TEXT NOT NULL,
  session_id TEXT NOT NULL,
  principal TEXT NOT NULL,
  status TEXT NOT NULL,
  decision TEXT NOT NULL,
  flow_type TEXT NOT NULL,
  risk_level TEXT NOT NULL,
  risk_score BIGINT NOT NULL,
  duration_ms DOUBLE PRECISION NOT NULL,
  request_bytes BIGINT NOT NULL,
  response_bytes BIGINT NOT NULL,
  has_sensitive_data BOOLEAN NOT NULL,
  intent_type TEXT,
  max_severity TEXT,
  detection_types TEXT, -- a JSON list
  rest TEXT, -- a JSON object
  words TEXT, -- a JSON object
  writer BIGINT NOT NULL,
  number BIGINT NOT NULL,
  salts BYTEA NOT NULL,
  hash BYTEA NOT NULL,
  PRIMARY KEY (seq, at)
) PARTITION BY RANGE (at);
CREATE INDEX activity_id ON activity (id);

CREATE TABLE place (last BIGINT NOT NULL);
INSERT INTO place VALUES (0);

-- Finished blocks of records, with the span of time that they cover and their size.
CREATE TABLE block (
  block BIGINT PRIMARY KEY,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  bytes BIGINT NOT NULL
);

-- Which records of a finished block have a value in a field.
CREATE TABLE posting (
  field BIGINT NOT NULL,
  value TEXT COLLATE "C" NOT NULL, -- a hash in the place of what is very long
  block BIGINT NOT NULL,
  records BYTEA NOT NULL,
  PRIMARY KEY (field, value, block)
);
CREATE INDEX posting_block ON posting (block);

-- Where records were lost, how many, and why.
CREATE TABLE gap (
  after_seq BIGINT NOT NULL,
  lost BIGINT NOT NULL,
  why TEXT NOT NULL
);

-- Everybody who ever wrote, and where the one before had got to.
CREATE TABLE writer (
  writer BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name BYTEA NOT NULL UNIQUE, -- random
  begun BIGINT NOT NULL,
  after_name BYTEA NOT NULL, -- nothing for the first
  after_number BIGINT NOT NULL,
  after_hash BYTEA NOT NULL
);

-- How far a chain had got, signed: the last that is known, and the last that was dropped.
CREATE TABLE checkpoint (
  writer BIGINT NOT NULL,
  pruned BOOLEAN NOT NULL,
  number BIGINT NOT NULL,
  hash BYTEA NOT NULL,
  at BIGINT NOT NULL,
  key BYTEA NOT NULL,
  signature BYTEA NOT NULL,
  PRIMARY KEY (writer, pruned)
);

-- What is known about the things that upstreams offer, since they were first seen.
CREATE TABLE baseline (
  upstream TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  approved TEXT, -- canonical JSON
  current TEXT NOT NULL, -- canonical JSON
  made_by TEXT NOT NULL,
  reason TEXT NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (upstream, kind, name)
);
