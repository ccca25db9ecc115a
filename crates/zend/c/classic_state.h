/* The state that a request of classic mode has outside of PHP, shared by the mode's files. */
#ifndef WEFT_CLASSIC_STATE_H
#define WEFT_CLASSIC_STATE_H

#include "coroutine.h"

#define KEPT_MAX 16

/* The source of the response if a script has delegated it: delegation.c. */
typedef struct {
	bool pending;       /* the named script is to run */
	unsigned count;     /* scripts before the current one */
	char *query;        /* QUERY_STRING of the current one, if there were others before */
	char *old_lines[10];
	weft_header *carried; /* header fields of those that stay; they lie in old_lines */
	size_t carried_count;
} weft_delegation;

typedef struct weft_classic weft_classic;

/* A response on its way from PHP to the client. It lies on the coroutine's stack, because PHP's heap ends before it
 * does. */
struct weft_classic {
	/* The strings that SG(request_info) and the script point to; freed with the request. */
	char *kept[KEPT_MAX];
	size_t kept_count;
	char *root, *script_name, *path_info;

	bool sent;     /* PHP has sent the head: it lies in `lines` */
	bool begun;    /* the client has it */
	bool finished; /* the response has ended */
	uint32_t status;
	char *lines;
	weft_header *headers;
	size_t headers_count;
	uint32_t unreadable; /* the status that tells why the script could not be opened; 0: PHP tried itself */
	bool at_pace; /* the script does not want output to be stored for the client: X-Accel-Buffering: no */
	char *sendfile; /* the header that delegates the response; it lies in `lines` */
	char *own_file; /* the same without a header; freed with the request */
	weft_delegation delegation;

	char *output;
	size_t output_bytes, output_room;
};

/* The response of the coroutine's classic request; NULL if it runs none. */
WEFT_SLOT(classic, weft_classic *)

static inline weft_classic *weft_classic_of(const weft_coroutine *coroutine)
{
	return *weft_classic_slot(coroutine);
}

#endif
