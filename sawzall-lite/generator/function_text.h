/* Functions as text: what their conversion to string gives. */
#ifndef SAWZALL_LITE_GENERATOR_FUNCTION_TEXT_H
#define SAWZALL_LITE_GENERATOR_FUNCTION_TEXT_H

#include "base/core/arena.h"
#include "base/core/slice.h"

struct saw_function;

/* The name of @f or, of a function literal, its text; in @a or borrowed from
 * the program. PRE: @f was checked. */
struct slice saw_function_text(struct arena *a, const struct saw_function *f);

#endif /* SAWZALL_LITE_GENERATOR_FUNCTION_TEXT_H */
