-- Sorts in memory that others of the session have left: gpusort.kept_memory.
\ir setup.psql
SELECT plan(47);

SELECT is(current_setting('gpusort.kept_memory'), '256MB', 'the default');
SELECT lives_ok($$SET gpusort.kept_memory = 0$$, 'nothing may be kept');
SELECT throws_ok($$SET gpusort.kept_memory = -1$$, '22023', NULL, 'but not less');
SELECT lives_ok($$SET gpusort.kept_memory = '3GB'$$, 'or much');
SELECT is((SELECT context FROM pg_settings WHERE name = 'gpusort.kept_memory'), 'user', 'any user may set it');

CREATE TEMP TABLE narrow AS SELECT hashint8extended(i, 1) % 40000 AS k, i AS id FROM generate_series(1, 60000) AS i;
CREATE TEMP TABLE short (k text COLLATE "C", id integer);
INSERT INTO short SELECT left(md5((i / 2)::text), 16), i FROM generate_series(1, 60000) AS i;
CREATE TEMP TABLE padded AS SELECT hashint4(i) % 1000 AS k, i AS id, repeat('x', i % 300) AS pad FROM generate_series(1, 40000) AS i;
CREATE TEMP TABLE listed AS SELECT ARRAY[hashint4(i) % 9000, i % 2] AS k, i AS id FROM generate_series(1, 30000) AS i;
ANALYZE narrow, short, padded, listed;

-- Sorts of different shapes after each other, so that each finds what one of another shape has left; some go to disk.
CREATE FUNCTION pg_temp.after_each_other(kept text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	source text;
	memory text;
BEGIN
	PERFORM set_config('gpusort.kept_memory', kept, false);
	FOREACH memory IN ARRAY ARRAY['256MB', '2MB'] LOOP
		PERFORM set_config('gpusort.work_mem', memory, false);
		FOREACH source IN ARRAY ARRAY['narrow', 'padded', 'short', 'listed', 'narrow'] LOOP
			RETURN NEXT pg_temp.same_ids(format('SELECT t.* FROM %s t ORDER BY k', source), format('SELECT t.* FROM %s t ORDER BY k, ctid', source),
				format('%s in %s, %s kept', source, memory, kept));
		END LOOP;
	END LOOP;
	RESET gpusort.work_mem;
END $$;
SELECT pg_temp.after_each_other('0');
SELECT pg_temp.after_each_other('3MB');
SELECT pg_temp.after_each_other('1GB');
SELECT pg_temp.after_each_other('256MB');

-- two sorts of one plan, of which the second begins while the first holds its rows
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.same_ids('SELECT a.id FROM narrow a JOIN padded b ON a.k = b.k AND b.id < 2000 ORDER BY a.id, b.id',
	'SELECT a.id FROM narrow a JOIN padded b ON a.k = b.k AND b.id < 2000 ORDER BY a.id, b.id', 'a merge join');
-- the setting changes while sorts hold memory
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM narrow ORDER BY k;
MOVE 100 FROM c;
SET LOCAL gpusort.kept_memory = 0;
SELECT pg_temp.same_ids('SELECT id FROM short ORDER BY k', 'SELECT id FROM short ORDER BY k, ctid', 'with an open cursor');
COMMIT;
SELECT * FROM finish();
