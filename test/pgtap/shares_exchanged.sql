-- shares.sql, where participants hand rows on instead of reading all of them.
\set way exchange
\ir shares.sql
