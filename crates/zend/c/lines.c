/* Header lines of a request that have one name: the first of them, or all as one.
 *
 * Must not know: which lines reach PHP at all (src/lines.rs). Invariant: wherever PHP is told of several lines as one, it is told
 * the same. */
#include "lines.h"

weft_slice weft_first_header(uint64_t request, const char *wanted)
{
	weft_slice name, value;
	for (uint32_t at = 0; weft_host_next_header(request, &at, &name, &value);) {
		if (weft_slice_is(name, wanted)) {
			return value;
		}
	}
	return (weft_slice){NULL, 0};
}

/* A list has a comma between its lines (RFC 9110 section 5.3); cookies are a list of their own kind (RFC 6265 section 5.4). */
void weft_join_line(smart_str *joined, weft_slice value, bool is_cookie)
{
	if (joined->s) {
		smart_str_appends(joined, is_cookie ? "; " : ", ");
	}
	smart_str_appendl(joined, value.bytes, value.length);
	smart_str_0(joined);
}

void weft_join_cookies(uint64_t request, smart_str *cookies)
{
	weft_slice name, value;
	for (uint32_t at = 0; weft_host_next_header(request, &at, &name, &value);) {
		if (weft_slice_is(name, "cookie")) {
			weft_join_line(cookies, value, true);
		}
	}
}
