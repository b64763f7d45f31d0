/* Messages about changes: lists of fields.
 */
#include "bigtable/wire/change_calls.h"

#include "bigtable/wire/message.h"

CHANGE_MESSAGES(MESSAGE_CODE)
