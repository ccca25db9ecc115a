/* delegation.c: responses that a script delegates to the server. */
#ifndef WEFT_DELEGATION_H
#define WEFT_DELEGATION_H

#include "classic_state.h"

/* Which of WEFT_SENDFILE and WEFT_ACCEL_REDIRECT are enabled. */
uint32_t weft_host_delegations(uint64_t request);
/* Answers with a file of a directory that the operator has named. Returns 0, or the status that says why not: 404,
 * 403, 500. */
uint32_t weft_host_send_file(uint64_t request, uint32_t status, const weft_header *headers, size_t count, weft_slice path);
/* Answers with whatever answers the path of this URI. Returns 0, a status as above, or WEFT_RUN_SCRIPT: a script
 * answers, and its fields are now the request's. */
uint32_t weft_host_redirect(uint64_t request, const weft_header *headers, size_t count, weft_slice uri);
bool weft_delegation_takes(weft_classic *classic, weft_header header);
/* 0, or the status with which to refuse the request. */
uint32_t weft_delegation_answer(weft_coroutine *coroutine);
/* The state with which the named script begins. false: none was named. */
bool weft_delegation_next(weft_classic *classic, weft_delegation *next);
void weft_delegation_tell(weft_classic *classic);
void weft_delegation_carry(weft_classic *classic, size_t headers_max);
void weft_delegation_free(weft_delegation *delegation);

#endif
