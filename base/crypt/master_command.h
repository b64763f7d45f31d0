/* Runs a command that prints a secret, as a master key. */
#ifndef BASE_CRYPT_MASTER_COMMAND_H
#define BASE_CRYPT_MASTER_COMMAND_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

/* Longest text of a key, white space around it included. */
#define MASTER_TEXT_BYTES_MAX ((size_t)256)

/* Run @command with sh and store its standard output in @text, which has @room
 * bytes, and *@len. Blocks the thread until the command ends. Errors:
 * ERR_INVALID (it failed, or printed more). */
MUST_CHECK int master_command_run(const char *command,
                                  char *text,
                                  size_t room,
                                  size_t *len,
                                  struct err *err);

#endif /* BASE_CRYPT_MASTER_COMMAND_H */
