/* conversation.c: waits in the middle of a conversation. */
#ifndef WEFT_CONVERSATION_H
#define WEFT_CONVERSATION_H

#include "weft.h"

/* Whether the connection that is waited for now becomes unusable if the wait is cut short. */
bool weft_in_conversation(void);
/* Whether the stream of a command is closed by pclose(), whose caller wants the status. */
bool weft_asks_for_status(void);

#endif
