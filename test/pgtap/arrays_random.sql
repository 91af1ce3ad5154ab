-- Random arrays of random types, another seed every time.  The one in a failure's message repeats it: psql -v seed=...
\ir arrays.psql
SELECT no_plan();
\if :{?seed}
\else
\getenv seed SEED
\endif
\if :{?seed}
\else
SELECT (random() * 1e9)::integer AS seed \gset
\endif

-- Types, and how a value comes from r, a random number between 0 and 1, and from span, how many there are about.
CREATE TEMP TABLE kinds (type text, generator text);
INSERT INTO kinds VALUES
	('boolean', 'r < 0.5'), ('smallint', 'trunc((r - 0.5) * least(span, 65534))::smallint'), ('integer', 'trunc((r - 0.5) * least(span, 4e9))::integer'),
	('bigint', 'trunc((r - 0.5) * span)::bigint'), ('real', '((r - 0.5) * least(span, 1e30))::real'),
	('double precision', 'CASE WHEN r < 0.01 THEN ''NaN'' WHEN r < 0.02 THEN ''-0'' ELSE trunc((r - 0.5) * span) END'),
	('numeric', 'round(trunc(r * span)::numeric / 1000, (r * 5)::integer)'), ('date', 'date ''2000-01-01'' + trunc(r * least(span, 1e6))::integer'),
	('timestamptz', 'timestamptz ''2000-01-01'' + trunc(r * least(span, 1e9)) * interval ''1 second'''),
	('interval', 'trunc(r * least(span, 1e6)) * interval ''1 minute'' + (r * 3)::integer * interval ''1 month'''),
	('text COLLATE "C"', 'left(md5(trunc(r * span)::text), (r * 20)::integer)'), ('text', 'trunc(r * span)::text'),
	('bytea', 'decode(repeat(''00'', (r * 9)::integer) || left(md5(trunc(r * span)::text), (r * 4)::integer * 2), ''hex'')'),
	('uuid', 'md5(trunc(r * span)::text)::uuid'), ('inet', '''10.0.0.0/8''::inet + trunc(r * least(span, 1e7))::bigint'),
	('bit varying', 'trunc(r * span)::bigint::bit(64)::bit varying(64)'), ('jsonb', 'to_jsonb(trunc(r * span))'),
	('int4range', 'int4range(trunc(r * least(span, 1e6))::integer, NULL)');

-- Lengths about where ways part: the smallest for an engine, the first chunk's rows, some chunks.
CREATE FUNCTION pg_temp.random_arrays(kind kinds) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	edges constant integer[] := '{0,1,2,16,64,256,1024,4096}';
	query text := '';
	type text := regexp_replace(kind.type, ' COLLATE .*', '');
BEGIN
	FOR i IN 1..5 LOOP
		query := query || CASE WHEN i > 1 THEN ' UNION ALL ' ELSE '' END || format('SELECT coalesce(array_agg(x ORDER BY n), ''{}'')
			FROM (SELECT n, CASE WHEN random() < %3$s THEN NULL ELSE (%1$s)::%2$s END AS x
				FROM (SELECT n, CASE WHEN n %% %6$s = 0 THEN random() ELSE 0.3 END AS r, %4$s::float8 AS span FROM generate_series(1, %5$s) AS n) AS numbers) AS vals',
			kind.generator, type, (ARRAY[0, 0, 0.05, 0.9])[1 + trunc(random() * 4)::integer], 10 ^ trunc(random() * 18),
			greatest(0, edges[1 + trunc(random() * 8)::integer] + trunc(random() * 5)::integer - 2), 1 + trunc(random() ^ 3 * 4)::integer);
	END LOOP;
	PERFORM pg_temp.fill_arrays(kind.type, query);
END $$;

-- Tests of so many random types, one after the other; those that fail are told of, with the seed.
CREATE FUNCTION pg_temp.random_tests(seed integer, rounds integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	kind kinds;
	line text;
BEGIN
	PERFORM setseed(seed % 1000000000 / 1e9);
	FOR round IN 1 .. rounds LOOP
		SELECT * INTO kind FROM kinds ORDER BY random() LIMIT 1;
		PERFORM pg_temp.random_arrays(kind);
		FOR line IN SELECT pg_temp.check_order(kind.type) UNION ALL SELECT pg_temp.check_groups(kind.type) LOOP
			RETURN NEXT line || CASE WHEN line ~ '^not ok' THEN E'\n# seed ' || seed ELSE '' END;
		END LOOP;
	END LOOP;
END $$;
SELECT pg_temp.random_tests(:seed, 10);

SELECT * FROM finish();
