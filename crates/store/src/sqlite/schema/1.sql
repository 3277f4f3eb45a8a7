-- One row for each record, in the order in which they were written. What filters need has a
-- column; what has none is in `rest`, a JSON object, which most records do not need.
CREATE TABLE activity (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL, -- milliseconds since 1970, UTC
  id BLOB NOT NULL, -- the call's ULID
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
  risk_score INTEGER NOT NULL,
  duration_ms REAL NOT NULL,
  request_bytes INTEGER NOT NULL,
  response_bytes INTEGER NOT NULL,
  has_sensitive_data INTEGER NOT NULL,
  intent_type TEXT,
  max_severity TEXT,
  detection_types TEXT, -- a JSON list
  rest TEXT
);

-- Finished blocks of records, with the span of time that they cover.
CREATE TABLE block (
  block INTEGER PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL
);

-- Which records of a finished block have a value in a field.
CREATE TABLE posting (
  field INTEGER NOT NULL,
  value TEXT NOT NULL,
  block INTEGER NOT NULL,
  records BLOB NOT NULL,
  PRIMARY KEY (field, value, block)
) WITHOUT ROWID;

-- Where records were lost, how many, and why.
CREATE TABLE gap (
  after_seq INTEGER NOT NULL,
  lost INTEGER NOT NULL,
  why TEXT NOT NULL
);
