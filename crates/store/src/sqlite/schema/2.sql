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
  since INTEGER NOT NULL, -- milliseconds since 1970, UTC
  PRIMARY KEY (upstream, kind, name)
) WITHOUT ROWID;
