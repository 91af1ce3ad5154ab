/*
 * fields.c: the key of a row as a sequence of fields, and steps, which choose the bits that one sort covers.  Columns
 * of fixed width become fields of few bits.  A string is a field without a fixed end; a step covers some characters.
 * Rows equal in the bits of a step reach the same place of the key: their strings ended within the step, or none did.
 * One that ends exactly at its end continues, with an empty rest.
 */
#include "cpu.h"
#include "../common/key_fields.h"

#include <string.h>

/* Sets a field to half a column: values minus minimum without constant trailing bits; descending, from the maximum. */
static uint64_t
value_field(gs_field *field, const gs_cpu_column *column, int half)
{
	const gs_value_range *range = &column->range[half];
	uint8_t shift = (uint8_t) gs_field_shift(range->varying);
	uint64_t span = (range->max - range->min) >> shift;

	*field = (gs_field){.kind = GS_FIELD_VALUE, .bits = gs_bits(span), .width = column->width, .column = column};
	field->values = half ? column->low.data : column->values.data;
	field->nulls = column->nulls.data;
	field->pack.shift = shift;
	field->pack.flip = column->spec.desc ? ~(uint64_t) 0 : 0;
	field->pack.base = column->spec.desc ? ~range->max : range->min;
	return span;
}

/* Sets a field to one bit that separates NULL, for values whose codes have no room for it. */
static void
null_field(gs_field *field, const gs_cpu_column *column)
{
	*field = (gs_field){.kind = GS_FIELD_NULL, .bits = 1, .column = column, .nulls = column->nulls.data};
	field->null_code = gs_null_code(column->spec.nulls_first, 0);
}

/* Makes a string's fields: one for NULL if needed, and the string unless all strings are equal. */
static uint32_t
string_fields(const gs_cpu_column *column, gs_field *fields)
{
	uint32_t n = 0;

	if (column->nulls.data != NULL)
		null_field(&fields[n++], column);
	if (column->longest > column->prefix)
	{
		fields[n] = (gs_field){.kind = GS_FIELD_BYTES, .column = column, .nulls = column->nulls.data};
		fields[n++].values = column->values.data;
	}
	return n;
}

/* Makes the fields of a column: three at most, none if all its rows are equal. */
static uint32_t
column_fields(const gs_cpu_column *column, gs_field *fields)
{
	uint32_t n = 0;
	uint64_t span;

	if (!column->has_values)
		return 0;
	if (column->spec.type == GS_BYTES)
		return string_fields(column, fields);
	span = value_field(&fields[0], column, 0);
	if (column->nulls.data != NULL && column->spec.type != GS_U128 && gs_null_fits(span))
	{
		fields[0].bits = gs_bits(span + 1);
		fields[0].pack.bump = gs_null_bump(column->spec.nulls_first);
		fields[0].null_code = gs_null_code(column->spec.nulls_first, span);
		return 1;
	}
	if (column->nulls.data != NULL)
		null_field(&fields[n++], column);
	if (span > 0)
		value_field(&fields[n++], column, 0);
	if (column->spec.type == GS_U128 && value_field(&fields[n], column, 1) > 0)
		n++;
	return n;
}

/* Returns the bits of all fixed-width fields, and whether there are strings.  Cheap, as it runs for every chunk. */
uint32_t
gs_table_key_bits(const gs_table *table, bool *strings)
{
	uint32_t bits = 0;

	*strings = false;
	for (uint32_t c = 0; c < table->ncolumns; c++)
	{
		gs_field fields[3];
		uint32_t n = column_fields(&table->columns[c], fields);

		for (uint32_t f = 0; f < n; f++)
		{
			bits += fields[f].bits;
			*strings |= fields[f].kind == GS_FIELD_BYTES;
		}
	}
	return bits;
}

/* Builds an alphabet for the first string of the key if the first step covers it. */
static gs_status
first_alphabet(gs_key *key, uint32_t row_bits, gs_alphabet *alphabet)
{
	uint32_t bits = row_bits;

	for (uint32_t f = 0; f < key->nfields && bits < 64; f++)
	{
		bits += key->fields[f].bits;
		if (key->fields[f].kind != GS_FIELD_BYTES)
			continue;
		key->alphabet = alphabet;
		/* if it is the whole key, packing the rows again loses nothing */
		return gs_alphabet_of_rows(alphabet, key, f, row_bits, key->nfields == 1);
	}
	return GS_OK;
}

/* Returns the most bytes that a table's key can take. */
size_t
gs_key_bytes(const gs_table *table)
{
	return (size_t) table->ncolumns * 3 * sizeof(gs_field) + sizeof(gs_alphabet) + GS_ALIGN;
}

/* Makes the key of a table, which must not change while the key is used. */
gs_status
gs_key_make(gs_key *key, const gs_table *table, uint32_t row_bits)
{
	size_t bytes = (size_t) table->ncolumns * 3 * sizeof(gs_field);
	bool strings;

	*key = (gs_key){.work = table->work, .loops = table->loops, .rows = table->rows};
	key->bits = gs_table_key_bits(table, &strings);
	strings = strings && table->rows >= GS_ALPHABET_ROWS;
	GS_TRY(gs_block_reserve(key->work, &key->memory, bytes + (strings ? sizeof(gs_alphabet) : 0)));
	key->fields = key->memory.data;
	for (uint32_t c = 0; c < table->ncolumns; c++)
		key->nfields += column_fields(&table->columns[c], key->fields + key->nfields);
	if (strings)
		return first_alphabet(key, row_bits, (gs_alphabet *) ((char *) key->memory.data + bytes));
	return GS_OK;
}

/* Frees a key.  Safe to repeat. */
void
gs_key_release(gs_key *key)
{
	if (key->work != NULL)
		gs_block_release(key->work, &key->memory);
}

/* Adds as many characters of a string as fit; returns false if none does. */
static bool
add_string(const gs_field *field, const gs_alphabet *alphabet, gs_place *place, uint32_t room, gs_key_step *step)
{
	const gs_cpu_column *column = field->column;
	gs_part *part = &step->parts[step->nparts];
	uint64_t longest = column->longest;
	uint32_t bits = 0;

	*part = (gs_part){.field = field};
	part->depth = place->at > column->prefix ? place->at : column->prefix;
	if (alphabet != NULL && alphabet->field == place->field && alphabet->depth == part->depth && alphabet->width > 0)
	{
		/* leading bits of the next character fill the room; a later step covers that character again */
		part->alphabet = alphabet;
		bits = alphabet->chars * alphabet->width < room ? alphabet->chars * alphabet->width : room;
		part->chars = bits / alphabet->width;
	}
	else if (alphabet != NULL && alphabet->field == place->field && alphabet->depth == part->depth)
	{
		part->alphabet = alphabet;
		while (part->chars < GS_POSITIONS && bits + alphabet->bits[part->chars] <= room)
			bits += alphabet->bits[part->chars++];
		if (alphabet->longest < part->depth + part->chars)
			longest = alphabet->longest;
	}
	else if (room >= 8 + 3)
	{
		part->chars = (room - 3) / 8 < 7 ? (room - 3) / 8 : 7;
		bits = 8 * part->chars + 3;
	}
	if (part->chars == 0)
		return false;
	part->pack.bits = (uint8_t) bits;
	step->bits += bits;
	step->nparts++;
	/* with distances, no string ends before the step does: all that end with it have equal lengths */
	step->open = longest >= part->depth + part->chars + (part->alphabet != NULL && part->alphabet->width > 0);
	*place = (gs_place){place->field + 1, 0};
	return true;
}

/* Adds as many bits of a field as fit. */
static void
add_value(const gs_field *field, gs_place *place, uint32_t room, gs_key_step *step)
{
	gs_part *part = &step->parts[step->nparts++];
	uint32_t left = field->bits - (uint32_t) place->at;
	uint32_t take = left < room ? left : room;

	*part = (gs_part){.field = field, .pack = field->pack};
	part->pack.bits = (uint8_t) take;
	part->pack.drop = (uint8_t) (left - take);
	part->null_part = field->null_code >> part->pack.drop & gs_mask(take);
	step->bits += take;
	place->at += take;
	if (take == left)
		*place = (gs_place){place->field + 1, 0};
}

/* Chooses the bits of the next step: as many as fit, from a place on. */
void
gs_step_make(const gs_key *key, const gs_alphabet *alphabet, gs_place place, uint32_t room, gs_key_step *step)
{
	step->nparts = step->bits = 0;
	step->open = false;
	while (place.field < key->nfields && step->bits < room && !step->open)
	{
		const gs_field *field = &key->fields[place.field];

		if (field->kind != GS_FIELD_BYTES)
			add_value(field, &place, room - step->bits, step);
		else if (!add_string(field, alphabet, &place, room - step->bits, step))
			break;
	}
	step->end = place;
}

/* Returns the place up to which a step has sorted a row.  It is valid for all rows that compared equal. */
gs_place
gs_step_end(const gs_key_step *step, uint64_t row)
{
	const gs_part *part = &step->parts[step->nparts - 1];
	uint64_t length;

	if (!step->open)
		return step->end;
	(void) gs_string(part->field, row, &length);
	if (length < part->depth + part->chars)
		return step->end;
	return (gs_place){step->end.field - 1, part->depth + part->chars};
}

/* Returns the complete code of a field that is not a string. */
uint64_t
gs_field_code(const gs_field *field, uint64_t row)
{
	const gs_pack *pack = &field->pack;
	uint64_t value;

	if (field->kind == GS_FIELD_NULL)
		return gs_is_null(field->nulls, row) ? field->null_code : !field->null_code;
	if (gs_is_null(field->nulls, row))
		return field->null_code;
	if (field->width == 8)
		value = ((const uint64_t *) field->values)[row];
	else if (field->width == 4)
		value = ((const uint32_t *) field->values)[row];
	else if (field->width == 2)
		value = ((const uint16_t *) field->values)[row];
	else
		value = ((const uint8_t *) field->values)[row];
	return (((value ^ pack->flip) - pack->base) >> pack->shift) + pack->bump;
}

/* Stores the code of NULL over whatever the loop computed for NULL rows. */
static void
patch_nulls(const gs_part *part, uint64_t row, size_t n, uint64_t *words)
{
	const uint64_t *nulls = part->field->nulls;
	uint64_t mask = gs_mask(part->pack.bits);

	for (uint64_t r = row; r < row + n; r++)
	{
		if (r % 64 == 0 && nulls[r / 64] == 0)
			r += 63;
		else if (gs_is_null(nulls, r))
			words[r - row] = (words[r - row] & ~mask) | part->null_part;
	}
}

/* Computes the step's bits of up to GS_BLOCK_ROWS consecutive rows.  Returns false if an alphabet lacks a character. */
bool
gs_step_rows(const gs_key *key, const gs_key_step *step, uint64_t row, size_t n, uint64_t *words)
{
	bool known = true;

	memset(words, 0, n * sizeof(*words));
	for (uint32_t p = 0; p < step->nparts; p++)
	{
		const gs_part *part = &step->parts[p];
		const gs_field *field = part->field;

		if (field->kind == GS_FIELD_VALUE)
		{
			key->loops->pack(field->width, (const char *) field->values + row * field->width, n, &part->pack, words);
			if (field->nulls != NULL)
				patch_nulls(part, row, n, words);
		}
		else if (field->kind == GS_FIELD_NULL)
			for (size_t i = 0; i < n; i++)
				words[i] = words[i] << 1 | gs_field_code(field, row + i);
		else
			known &= gs_string_rows(key->loops, part, row, n, words);
	}
	return known;
}

/* Appends one part to the words of scattered rows. */
static void
gather_part(const gs_part *part, const uint32_t *rows, size_t n, uint64_t *words)
{
	const gs_field *field = part->field;
	uint64_t mask = gs_mask(part->pack.bits);

	if (field->kind == GS_FIELD_BYTES)
	{
		gs_string_gather(part, rows, n, words);
		return;
	}
	for (size_t i = 0; i < n; i++)
	{
		if (i + 16 < n && field->kind == GS_FIELD_VALUE)
			__builtin_prefetch((const char *) field->values + (uint64_t) rows[i + 16] * field->width);
		words[i] = gs_append_bits(words[i], gs_field_code(field, rows[i]) >> part->pack.drop & mask, part->pack.bits);
	}
}

/* Computes the step's bits of scattered rows, replacing the bits above the row numbers. */
void
gs_step_gather(const gs_key_step *step, uint64_t *words, size_t n, uint32_t row_bits)
{
	uint32_t rows[GS_BLOCK_ROWS];
	uint64_t keys[GS_BLOCK_ROWS];

	for (size_t at = 0; at < n; at += GS_BLOCK_ROWS)
	{
		size_t m = n - at < GS_BLOCK_ROWS ? n - at : GS_BLOCK_ROWS;

		for (size_t i = 0; i < m; i++)
		{
			rows[i] = (uint32_t) (words[at + i] & gs_mask(row_bits));
			keys[i] = 0;
		}
		for (uint32_t p = 0; p < step->nparts; p++)
			gather_part(&step->parts[p], rows, m, keys);
		for (size_t i = 0; i < m; i++)
			words[at + i] = keys[i] << row_bits | rows[i];
	}
}
