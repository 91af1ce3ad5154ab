-- Addresses and identifiers.
\ir setup.psql
SELECT plan(7 * 14);

SELECT pg_temp.check_type('uuid', '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,00000000-0000-0000-8000-000000000000,
	00000000-0000-0000-7fff-ffffffffffff,80000000-0000-0000-0000-000000000000,7fffffff-ffff-ffff-ffff-ffffffffffff}', 'md5(i::text)::uuid');
SELECT pg_temp.check_type('macaddr', '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff,00:00:00:ff:ff:ff,80:00:00:00:00:00,7f:ff:ff:ff:ff:ff}',
						  'substr(md5(i::text), 1, 12)::macaddr');
SELECT pg_temp.check_type('macaddr8', '{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff,80:00:00:00:00:00:00:00,7f:ff:ff:ff:ff:ff:ff:ff}',
						  'substr(md5(i::text), 1, 16)::macaddr8');
-- IPv4 alone, then both families
SELECT pg_temp.check_type('inet', '{0.0.0.0,255.255.255.255,10.0.0.0/8,10.0.0.0/9,10.0.0.0/32,10.0.0.1/8,10.0.0.1/9,10.128.0.0/8,10.128.0.0/9,0.0.0.0/0,
	128.0.0.0/0,127.255.255.255/1,9.255.255.255}',
						  $$format('%s.%s.%s.%s/%s', i % 3, i % 5, i % 256, i % 7, i % 33)::inet$$);
SELECT pg_temp.check_type('inet', '{0.0.0.0,255.255.255.255/0,10.0.0.0/8,10.0.0.1/8,::,::/0,::1,::1/64,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,fe80::/10,fe80::1/10,
	fe80::/11,::ffff:10.0.0.1,2001:db8::/32,2001:db8::1/32,2001:db8::/33}',
						  $$CASE WHEN i % 2 = 0 THEN format('10.%s.%s.1/%s', i % 5, i % 7, i % 33)
							ELSE format('2001:db8:%s::%s/%s', i % 5, i % 7, i % 129) END::inet$$);
SELECT pg_temp.check_type('cidr', '{0.0.0.0/0,0.0.0.0/32,10/8,10.0.0.0/9,10.128.0.0/9,255.255.255.255/32}',
						  $$set_masklen(format('10.%s.%s.1', i % 256, i % 7)::inet::cidr, i % 33)$$);
SELECT pg_temp.check_type('cidr', '{0.0.0.0/0,10/8,::/0,::/128,2001:db8::/32,2001:db8::/33,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128}',
						  $$CASE WHEN i % 2 = 0 THEN set_masklen(format('10.%s.%s.1', i % 256, i % 7)::inet::cidr, i % 33)
							ELSE set_masklen(format('2001:%s::1', to_hex(i % 999))::inet::cidr, i % 129) END$$);

SELECT * FROM finish();
