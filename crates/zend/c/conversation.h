/* conversation.c: waits in the middle of a conversation. */
#ifndef WEFT_CONVERSATION_H
#define WEFT_CONVERSATION_H

#include "weft.h"

/* Whether a connection that is waited for now is good for nothing when the wait is cut short. */
bool weft_in_conversation(void);

#endif
