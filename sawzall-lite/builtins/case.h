/* The other case of a character, by Unicode's simple mappings. */
#ifndef SAWZALL_LITE_BUILTINS_CASE_H
#define SAWZALL_LITE_BUILTINS_CASE_H

#include <stdint.h>

/* @c itself when it has none. */
uint32_t saw_rune_lower(uint32_t c);
uint32_t saw_rune_upper(uint32_t c);

#endif /* SAWZALL_LITE_BUILTINS_CASE_H */
