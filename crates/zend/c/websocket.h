/* src/websocket.rs: the questions of the C side about WebSockets; event.c: one event. */
#ifndef WEFT_WEBSOCKET_H
#define WEFT_WEBSOCKET_H

#include "weft.h"

/* What has happened on a connection: its name, and the message, or the code and reason of its end. */
typedef struct {
	uint32_t service;
	uint32_t kind;
	uint32_t code;
	weft_slice name;
	weft_slice data;
} weft_event;

typedef struct {
	const weft_header *list;
	size_t count;
} weft_lines;

uint32_t weft_host_websocket_asked(uint64_t request);
/* lines: the headers, and the attributes. */
uint32_t weft_host_websocket_accept(uint64_t request, uint32_t service, uint32_t overflow, weft_slice protocol,
	const weft_lines lines[2], weft_slice *name);
bool weft_host_event_take(uint64_t tunnel, weft_event *event);
void weft_host_event_done(uint64_t tunnel, bool failed);
void weft_host_event_abandon(uint64_t tunnel);
uint32_t weft_host_websocket_send(weft_slice name, bool is_binary, weft_slice message);
bool weft_host_websocket_close(weft_slice name, uint32_t code, weft_slice reason);
int64_t weft_host_websocket_waiting(weft_slice name);
weft_slice weft_host_websocket_attribute(weft_slice name, weft_slice attribute);
uint32_t weft_host_websocket_remember(weft_slice name, weft_slice attribute, weft_slice value);

/* Runs the job of an event. */
void weft_event_run(weft_coroutine *coroutine);

#endif
