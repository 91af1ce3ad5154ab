/*
 * scatter_loops.h: moves items to their buckets.  Included once per width, with T (unsigned) and NAME defined.
 */

/* Scatters directly, for few buckets. */
static void
NAME(scatter_plainly)(gs_stream *s, const uint16_t *digits, size_t n, const T *from, T *to)
{
	for (size_t i = 0; i < n; i++)
		to[s->ends[digits[i]]++] = from[i];
}

/* Scatters through a line buffer per bucket, so that memory sees full lines of an aligned `to`, but for first ones. */
static void
NAME(scatter_lines)(gs_stream *s, const uint16_t *digits, size_t n, const T *from, T *to)
{
	const uint32_t items = GS_ALIGN / sizeof(T);

	for (size_t i = 0; i < n; i++)
	{
		uint32_t d = digits[i], at = s->ends[d]++;
		T *line = (T *) s->lines[d];

		line[at % items] = from[i];
		if (at % items != items - 1)
			continue;
		at -= items - 1;
		if (at >= s->starts[d])
			gs_store_line(to + at, line);
		else
			memcpy(to + s->starts[d], line + s->starts[d] % items, (at + items - s->starts[d]) * sizeof(T));
	}
}

#undef T
#undef NAME
