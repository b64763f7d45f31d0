/* Dropping the result of a call that is MUST_CHECK. A cast to void does not
 * drop it for GCC, and an empty branch looks like one that was forgotten.
 */
#ifndef BASE_CORE_IGNORE_RESULT_H
#define BASE_CORE_IGNORE_RESULT_H

/* A comment beside it says why nothing depends on the result of @call. */
#define IGNORE_RESULT(call) ((void)!(call))

#endif /* BASE_CORE_IGNORE_RESULT_H */
