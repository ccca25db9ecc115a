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
uint32_t weft_host_websocket_accept(uint64_t request, uint32_t service, uint32_t manner, weft_slice protocol,
	const weft_lines lines[2], weft_slice *name);
bool weft_host_event_take(uint64_t tunnel, weft_event *event);
void weft_host_event_done(uint64_t tunnel, bool failed);
void weft_host_event_postpone(uint64_t tunnel);
uint32_t weft_host_websocket_send(weft_slice name, bool is_binary, weft_slice message, weft_slice key);
bool weft_host_websocket_close(weft_slice name, uint32_t code, weft_slice reason);
int64_t weft_host_websocket_waiting(weft_slice name);
/* A weft_taken; the event is lent. */
uint32_t weft_host_websocket_next(weft_slice name, weft_event *event);
bool weft_host_websocket_await(weft_slice name, uint64_t wait, bool drained);
void weft_host_websocket_disown(weft_slice name, uint32_t code);
weft_slice weft_host_websocket_attribute(weft_slice name, weft_slice attribute);
uint32_t weft_host_websocket_remember(weft_slice name, weft_slice attribute, weft_slice value);

typedef struct {
	weft_slice delimiter; /* or none */
	uint32_t prefix_bytes; /* or 0 */
	bool is_little_endian, counts_itself;
} weft_framing;

/* src/stream.rs */
void weft_host_stream_declare(weft_slice path, uint32_t service, uint32_t manner, const weft_framing *framing);
weft_slice weft_host_connection_client(weft_slice name);
/* -1: it has ended. */
int64_t weft_host_connection_service(weft_slice name);
void weft_host_stream_give_back(weft_slice name, weft_slice bytes, uint64_t wanted);
/* Less than no bytes are the rest of the file. */
uint32_t weft_host_stream_send_file(weft_slice name, weft_slice path, uint64_t offset, int64_t length);

/* Runs the job of an event. */
void weft_event_run(weft_coroutine *coroutine);

#endif
