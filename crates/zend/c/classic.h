/* Between the files of classic mode: classic.c runs a request, classic_variables.c says what PHP is told of it,
 * classic_response.c takes what PHP answers. Not for anybody else. */
#ifndef WEFT_CLASSIC_H
#define WEFT_CLASSIC_H

#include "weft.h"

#define KEPT_MAX 16

/* Where the response comes from when a script has delegated it: delegation.c. */
typedef struct {
	bool pending;       /* the script that was named is to run */
	unsigned count;     /* scripts before the present one */
	char *query;        /* QUERY_STRING of the present one, if there were any */
	char *old_lines[10];
	weft_header *carried; /* what those have said that stays; it lies in old_lines */
	size_t carried_count;
} weft_delegation;

/* A response on its way from PHP to the client. It lies on the coroutine's stack: PHP's heap ends before it does. */
struct weft_classic {
	/* What SG(request_info) and the script point to; freed with the request. */
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
	uint32_t unreadable; /* the status that says why the script could not be opened; 0: PHP tried itself */
	bool at_pace; /* the script says that nothing is to be kept for the client: X-Accel-Buffering: no */
	char *sendfile; /* the header that delegates the response: in `lines` */
	char *own_file; /* the same, where no header says it; freed with the request */
	weft_delegation delegation;

	char *output;
	size_t output_bytes, output_room;
};

/* the host (src/host.rs) */
void weft_host_stream_at_pace(uint64_t request);

/* user_ini.c */
void weft_user_ini_apply(const char *script, const char *root);

/* source.c */
void weft_source_prepare(void);
void weft_source_read_ini(const char *directory, const char *name, HashTable *settings);

/* The host opens a file of the document root, and says where it really lies. A descriptor, minus the status that says why not,
 * or WEFT_OPEN_IT_YOURSELF, as it does not matter: the name is outside of the document root, or links may lead anywhere. */
int weft_host_open_source(weft_slice path, char *real, size_t room);

/* delegation.c */
/* Which of WEFT_SENDFILE and WEFT_ACCEL_REDIRECT are on. */
uint32_t weft_host_delegations(void);
/* Answers with a file of a directory that the operator has named. 0, or the status that says why not: 404, 403, 500. */
uint32_t weft_host_send_file(uint64_t request, uint32_t status, const weft_header *headers, size_t count, weft_slice path);
/* Answers with what answers this URI's path. 0, a status as above, or WEFT_RUN_SCRIPT: a script does, its fields are now the
 * request's. */
uint32_t weft_host_redirect(uint64_t request, const weft_header *headers, size_t count, weft_slice uri);
bool weft_delegation_takes(weft_classic *classic, weft_header header);
void weft_delegation_answer(weft_coroutine *coroutine);
bool weft_delegation_next(weft_coroutine *coroutine);
void weft_delegation_tell(weft_classic *classic);
void weft_delegation_carry(weft_classic *classic, size_t headers_max);
void weft_delegation_free(weft_delegation *delegation);

/* runtime_cache.c; before the engine starts, in whatever mode */
void weft_runtime_cache_start(void);

/* classic_variables.c */
bool weft_classic_tell(weft_coroutine *coroutine);
char *weft_classic_keep(weft_classic *classic, weft_slice value);
char *weft_classic_cookies(void);
void weft_classic_variables(zval *array);
char *weft_classic_getenv(const char *name, size_t length);
zend_result weft_classic_time(double *time);

/* classic_response.c */
int weft_classic_send_headers(sapi_headers_struct *headers);
size_t weft_classic_write(const char *bytes, size_t length);
void weft_classic_flush(void *context);
bool weft_classic_hint(weft_coroutine *coroutine);
void weft_classic_finish(weft_coroutine *coroutine);
void weft_classic_refuse(weft_coroutine *coroutine, uint32_t status);
void weft_classic_abandon(weft_coroutine *coroutine);
void weft_classic_free(weft_classic *classic);

#endif
