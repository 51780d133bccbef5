/* Linked into every program of a sanitizer build, because start() empties the environment that ASAN_OPTIONS would come in. A program of the toolkit ends
 * with what it holds; leaks are looked for in the unit tests, which say so. Tests that shift the
 * clock have a library loaded before that of the sanitizer. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0:verify_asan_link_order=0";
}
