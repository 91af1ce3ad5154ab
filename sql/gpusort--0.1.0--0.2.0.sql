-- gpusort--0.1.0--0.2.0.sql: what version 0.2.0 adds; a new installation runs it after gpusort--0.1.0.sql.
\echo Use "ALTER EXTENSION gpusort UPDATE TO '0.2.0'" to load this file. \quit
