/*
 * replay.c: runs a fuzzing program over inputs that were worth keeping, without a fuzzer.
 *
 *   PROGRAM FILE...
 */
#include "fuzz.h"

int
main(int argc, char **argv)
{
	static uint8_t bytes[1 << 20];

	for (int i = 1; i < argc; i++)
	{
		FILE *file = fopen(argv[i], "rb");
		size_t n;
		uint8_t *input;

		MUST(file != NULL);
		n = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		/* just as large as it is: the sanitizer watches its end */
		input = malloc(n + !n);
		for (size_t k = 0; k < n; k++)
			input[k] = bytes[k];
		LLVMFuzzerTestOneInput(input, n);
		free(input);
	}
	printf("ok - %s: %d inputs\n", argv[0], argc - 1);
	return argc > 1 ? 0 : 1;
}
