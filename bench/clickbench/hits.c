/*
 * hits.c: rows of a table with the columns of ClickBench's, as text for COPY.
 *
 *   hits ROWS [FROM TO [SEED]]     the rows FROM to TO - 1 of a table of ROWS, default all
 *
 * A row is computed of its number and the seed alone, so that parts of a table can be made at once.  What has many
 * values comes in families: a row founds one with a given chance, or has the value of an earlier row, so that the share
 * of distinct values is that chance in tables of any size, and sizes of families are as skewed as those of real pages
 * and phrases.  targets.txt says which shares and lengths these are, and clickbench.pl holds the table against it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANCE(share)	((uint32_t) ((share) * 4294967295.0))
#define ITEMS(array)	(sizeof(array) / sizeof((array)[0]))

/* What a draw is for: draws of one row for different things are independent. */
enum draw
{
	WATCH, USER, USER_KIND, URL, URL_TEXT, REFERER, REFERER_TEXT, TITLE, TITLE_TEXT, PHRASE, PHRASE_TEXT, SEARCHED,
	ADVERTISED, TIME, DAY, COUNTER, REFRESH, FLAGS, SOURCE, SIZE, ADDRESS, TIMING, MORE
};

/* The literals of ClickBench's conditions; the largest families have them. */
#define WANTED_USER		INT64_C(435090932899640449)
#define WANTED_REFERER	INT64_C(3594120000172545465)
#define WANTED_URL		INT64_C(2868770270353813622)
#define WANTED_COUNTER	62

static uint64_t seed = 45;

static char row[16384];
static char *end;

/* 64 random bits for one thing of a row or family. */
static uint64_t
draw(enum draw what, uint64_t number)
{
	uint64_t	x = number + seed * UINT64_C(0x9e3779b97f4a7c15) + ((uint64_t) what << 56);

	for (int i = 0; i < 2; i++)
	{
		x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
		x ^= x >> 31;
	}
	return x;
}

/* A number below n, of 32 random bits. */
static uint64_t
below(uint64_t bits, uint64_t n)
{
	return (bits & UINT32_MAX) * n >> 32;
}

/* The same, small ones more often: a mean of n / 4. */
static uint64_t
skewed(uint64_t bits, uint64_t n)
{
	double		u = (double) (bits & UINT32_MAX) / 4294967296.0;

	return (uint64_t) (u * u * u * (double) n);
}

/*
 * The row that founded a row's family.  Within the last `window` rows, or all with 0: that bounds how large a family
 * grows.
 */
static uint64_t
founder(enum draw what, uint64_t number, uint32_t chance, uint64_t window)
{
	while (number > 0)
	{
		uint64_t	bits = draw(what, number);

		if ((uint32_t) bits < chance)
			break;
		bits >>= 32;
		number = window == 0 || number <= window ? below(bits, number) : number - 1 - below(bits, window);
	}
	return number;
}

static int
has_phrase(uint64_t number)
{
	return (uint32_t) draw(SEARCHED, number) < CHANCE(0.1317);
}

/* The founder of a row's phrase, among rows that have one. */
static uint64_t
phrase_founder(uint64_t number)
{
	for (;;)
	{
		uint64_t	bits = draw(PHRASE, number);
		uint64_t	earlier;

		if (number == 0 || (uint32_t) bits < CHANCE(0.457))
			return number;
		bits >>= 32;
		do
		{
			earlier = below(bits, number);
			bits = draw(MORE, bits);
		} while (earlier > 0 && !has_phrase(earlier));
		number = earlier;
	}
}

static void
put_text(const char *text)
{
	size_t		length = strlen(text);

	memcpy(end, text, length);
	end += length;
}

static void
put_tab(void)
{
	*end++ = '\t';
}

static void
put_number(int64_t value)
{
	end += sprintf(end, "%" PRId64, value);
	put_tab();
}

/* A date, and a time after a space unless seconds are negative: those since 2013-07-01. */
static void
put_time(int64_t day, int64_t seconds)
{
	if (seconds >= 86400)
	{
		day += seconds / 86400;
		seconds %= 86400;
	}
	end += sprintf(end, day < 31 ? "2013-07-%02d" : "2013-08-%02d", (int) (day < 31 ? day + 1 : day - 30));
	if (seconds >= 0)
		end += sprintf(end, " %02d:%02d:%02d", (int) (seconds / 3600), (int) (seconds / 60 % 60), (int) (seconds % 60));
	put_tab();
}

/* The length of a family's text, skewed.  The few that many rows have are of the mean, which they would decide. */
static size_t
text_length(uint64_t family, uint64_t bits, size_t mean)
{
	return family < 4096 ? mean : skewed(bits, 4 * mean);
}

/* Words of syllables, in Cyrillic letters or Latin ones, of about so many bytes, without a space at their end. */
static void
put_words(uint64_t family, size_t bytes, int cyrillic, char space)
{
	static const char *const latin[] = {"ka", "re", "lo", "mi", "ster", "no", "va", "do", "gru", "pe", "ti", "sho",
	"bel", "ya", "fon", "ru"};
	static const char *const russian[] = {"ка", "ре", "ло", "ми", "стер", "но", "ва", "до", "гру", "пе", "ти", "шо",
	"бел", "я", "фон", "ру"};
	const char *const *syllables = cyrillic ? russian : latin;
	char	   *begin = end;

	for (uint64_t bits = family; (size_t) (end - begin) < bytes; bits = draw(MORE, bits))
		for (int i = 0; i < 14 && (size_t) (end - begin) < bytes; i++)
		{
			put_text(syllables[bits >> (4 * i) & 15]);
			if ((bits >> (4 * i) & 3) == 0 && (size_t) (end - begin) < bytes)
				*end++ = space;
		}
	while (end > begin && end[-1] == space)
		end--;
}

/* An address of a page of a family; kind tells pages from those that link to them. */
static void
put_address(uint64_t family, uint64_t kind, size_t mean)
{
	static const char *const hosts[] = {"liver.ru", "kinopoisk.ru", "video.yandex.ru", "smeshariki.ru", "tienskaia.ru"};
	uint64_t	bits = draw(MORE, family ^ kind << 40);
	uint64_t	host = skewed(bits, 2000);

	put_text("http://");
	if ((uint32_t) (bits >> 32) < CHANCE(0.0002))
		put_text("www.google.ru");
	else if (host < ITEMS(hosts))
		put_text(hosts[host]);
	else
	{
		put_words(draw(MORE, host), 8, 0, '-');
		put_text(".ru");
	}
	*end++ = '/';
	/* the founder's number makes it distinct */
	end += sprintf(end, "%" PRIx64 "/", family);
	put_words(bits, text_length(family, draw(MORE, bits), mean), 0, '_');
	put_tab();
}

static void
put_blanks(int count)
{
	while (count-- > 0)
		put_tab();
}

/* The engine whose advertisement led to the page, 0 for none. */
static int
advertiser(uint64_t bits)
{
	static const struct
	{
		int			engine;
		int			per_million;
	}			engines[] = {{2, 4046}, {27, 1132}, {13, 456}, {45, 390}, {44, 97}, {3, 69}, {62, 53}, {52, 36},
	{50, 12}, {28, 12}, {53, 10}, {25, 10}, {61, 10}, {21, 10}, {42, 10}, {16, 10}, {7, 10}, {22, 10}};
	int			left = (int) below(bits, 1000000);

	for (size_t i = 0; i < ITEMS(engines); i++)
		if ((left -= engines[i].per_million) < 0)
			return engines[i].engine;
	return 0;
}

/* A region: four have a third of the rows. */
static int64_t
region(uint64_t bits)
{
	uint64_t	percent = below(bits, 1000);

	if (percent < 183)
		return 229;
	if (percent < 250)
		return 2;
	if (percent < 293)
		return 208;
	if (percent < 326)
		return 169;
	return (int64_t) skewed(bits >> 32, 9000) + 1;
}

static int
width(uint64_t bits)
{
	static const struct
	{
		int			width;
		int			percent;
	}			widths[] = {{1920, 30}, {1366, 25}, {1280, 15}, {1600, 10}, {1680, 6}, {1024, 6}, {1440, 5}, {360, 3}};
	int			left = (int) below(bits, 100);

	for (size_t i = 0; i < ITEMS(widths) - 1; i++)
		if ((left -= widths[i].percent) < 0)
			return widths[i].width;
	return widths[ITEMS(widths) - 1].width;
}

/* The model of a user's telephone or tablet, "" for most. */
static void
put_model(uint64_t bits)
{
	static const char *const models[] = {"iPad", "iPhone", "A500", "N8-00", "iPho", "ONE TOUCH 6030A"};
	uint64_t	model = skewed(bits, 160);

	if ((uint32_t) (bits >> 32) < CHANCE(0.06))
		put_text("iPad");
	else if ((uint32_t) (bits >> 32) < CHANCE(0.07))
	{
		if (model < ITEMS(models))
			put_text(models[model]);
		else
			end += sprintf(end, "GT-I%" PRIu64, 9000 + model);
	}
	put_tab();
}

/* Columns 1 to 20: who, when, and which pages. */
static void
put_visit(uint64_t number, uint64_t user, uint64_t url, uint64_t referer)
{
	uint64_t	kind = draw(USER_KIND, user);
	uint64_t	time = draw(TIME, number);
	uint64_t	title = founder(TITLE, number, CHANCE(0.09), 0);
	uint64_t	counter = draw(COUNTER, number);
	int64_t		day = 1 + (int64_t) below(draw(DAY, number), 30);
	int64_t		seconds = (int64_t) (below(time, 43200) + below(time >> 32, 43200));

	put_number((int64_t) (draw(WATCH, number) >> 1));
	put_number(below(kind >> 8, 100) < 93);
	if (below(draw(TITLE_TEXT, title), 1000) < 2)
		put_text("Google: ");
	put_words(draw(TITLE_TEXT, title), 20 + text_length(title, draw(MORE, title), 48), 1, ' ');
	put_tab();
	put_number(1);
	put_time(day, seconds);
	put_time(day, -1);
	put_number((uint32_t) counter < CHANCE(0.0074) ? WANTED_COUNTER : 100 + (int64_t) skewed(counter >> 32, 6500) * 37);
	put_number((int32_t) draw(ADDRESS, user * 4 + (number & 3) / 3));
	put_number(region(draw(MORE, kind)));
	put_number(user == 0 ? WANTED_USER : (int64_t) (kind >> 1));
	put_number((int64_t) below(counter, 3));
	put_number(2 + (int64_t) skewed(kind, 90));
	put_number(1 + (int64_t) skewed(kind >> 16, 80));
	put_address(url, 0, 50);
	if (below(draw(REFERER_TEXT, number), 100) < 80)
		put_address(referer, 1, 58);
	else
		put_tab();
	put_number((uint32_t) draw(REFRESH, number) < CHANCE(0.12));
	put_number(0);
	put_number((int64_t) skewed(draw(MORE, referer), 9000));
	put_number((int64_t) skewed(draw(MORE, url), 16000));
	put_number((int64_t) skewed(draw(MORE, url + 1), 9000));
}

/* Columns 21 to 50: the user's browser, and how it came. */
static void
put_browser(uint64_t number, uint64_t user)
{
	uint64_t	kind = draw(USER_KIND, user ^ UINT64_C(1) << 48);
	uint64_t	source = draw(SOURCE, number);
	uint64_t	size = draw(SIZE, user);
	int			wide = width(size);

	put_number(wide);
	put_number(wide * 9 / 16);
	put_number(32);
	put_number((int64_t) below(kind, 12));
	put_number((int64_t) below(kind >> 4, 10));
	put_text(below(kind, 12) > 9 ? "700" : "");
	put_tab();
	put_number(0);
	put_number(0);
	put_number((int64_t) skewed(kind >> 8, 60));
	put_text((const char *const[]) {"22", "D", "s2", "9.", "00"}[skewed(kind >> 12, 5)]);
	put_tab();
	put_number(1);
	put_number(1);
	put_number(below(kind >> 16, 100) < 7);
	put_number(below(kind >> 16, 100) < 7 ? 1 + (int64_t) skewed(kind >> 24, 120) : 0);
	put_model(draw(MORE, kind));
	put_tab();
	put_number((int64_t) below(kind >> 28, 4000000));
	put_number((int64_t) skewed(source, 11) - 1);
	put_number(has_phrase(number) ? (below(source >> 16, 10) < 6 ? 2 : 1 + (int64_t) skewed(source >> 24, 90)) : 0);
	if (has_phrase(number))
	{
		uint64_t	phrase = phrase_founder(number);

		put_words(draw(PHRASE_TEXT, phrase), 20 + skewed(draw(MORE, phrase), 80), 1, ' ');
		end += sprintf(end, " %" PRIu64, phrase);
	}
	put_tab();
	put_number(advertiser(draw(ADVERTISED, number)));
	put_number(below(source, 1000) < 1);
	put_number(wide - (int64_t) skewed(size >> 16, 500));
	put_number(wide * 9 / 16 - (int64_t) skewed(size >> 20, 300));
	put_number(135);
	put_time(2 + (int64_t) below(source >> 8, 29), (int64_t) below(source >> 30, 86400));
	put_number((int64_t) below(kind, 6));
	put_number((int64_t) below(kind >> 8, 2));
	put_number((int64_t) skewed(kind >> 32, 60000));
	put_number(0);
}

/* Columns 51 to 105: what is mostly blank or one value, and the hashes of pages. */
static void
put_rest(uint64_t number, uint64_t user, uint64_t url, uint64_t referer)
{
	uint64_t	flags = draw(FLAGS, number);
	uint64_t	timing = draw(TIMING, number);

	put_text(flags & 1 ? "windows-1251;charset" : "utf-8");
	put_tab();
	put_number(1601);
	put_number(below(flags, 1000) < 40);
	put_number(below(flags >> 8, 1000) < 3);
	put_number(below(flags >> 16, 1000) < 100);
	put_number((int64_t) (draw(MORE, user) >> 1));
	put_tab();
	put_number((int32_t) draw(MORE, number));
	put_number(0);
	put_number(below(flags >> 24, 1000) < 3);
	put_number(0);
	put_number(below(flags >> 20, 1000) < 100);
	put_number(0);
	*end++ = "5gSEw"[skewed(flags, 5)];
	put_tab();
	put_time(2 + (int64_t) below(flags >> 8, 29), (int64_t) below(flags >> 30, 86400));
	for (int i = 0; i < 5; i++)
		put_number((int64_t) skewed(draw(USER_KIND, user + (UINT64_C(1) << (49 + i))), 50));
	put_number((int32_t) draw(ADDRESS, user));
	put_number((int32_t) timing);
	put_number(-1);
	put_number((int64_t) skewed(timing >> 8, 30));
	put_text(flags & 7 ? "S0" : "h1");
	put_tab();
	put_text((flags >> 3) & 7 ? "s\xd0\xbf" : "\xd0\xbf" "e");
	put_tab();
	put_blanks(2);
	put_number(0);
	for (int i = 0; i < 6; i++)
		put_number((int64_t) skewed(timing >> (5 * i), 6000));
	put_number(0);
	put_tab();
	put_number(0);
	put_tab();
	put_text("NH\x1c");
	put_tab();
	put_number(0);
	put_blanks(10);
	put_number(0);
	put_number(referer == 0 ? WANTED_REFERER : (int64_t) (draw(MORE, referer ^ UINT64_C(1) << 54) >> 1));
	put_number(url == 0 ? WANTED_URL : (int64_t) (draw(MORE, url ^ UINT64_C(1) << 55) >> 1));
	put_number(0);
}

int
main(int argc, char **argv)
{
	uint64_t	rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t	from = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t	to = argc > 3 ? strtoull(argv[3], NULL, 10) : rows;

	if (argc > 4)
		seed = strtoull(argv[4], NULL, 10);
	if (rows == 0 || from > to || to > rows)
	{
		fprintf(stderr, "usage: %s ROWS [FROM TO [SEED]]\n", argv[0]);
		return 2;
	}
	for (uint64_t number = from; number < to; number++)
	{
		uint64_t	user = founder(USER, number, CHANCE(0.1763), 1000);
		uint64_t	url = founder(URL, number, CHANCE(0.1834), 0);
		uint64_t	referer = founder(REFERER, number, CHANCE(0.2), 0);

		end = row;
		put_visit(number, user, url, referer);
		put_browser(number, user);
		put_rest(number, user, url, referer);
		end[-1] = '\n';
		fwrite(row, 1, (size_t) (end - row), stdout);
	}
	if (fflush(stdout) != 0)
	{
		perror("hits");
		return 1;
	}
	return 0;
}
