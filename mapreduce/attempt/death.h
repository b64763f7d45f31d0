/* How the process of an attempt ended, in words. Nothing here parks. */
#ifndef MAPREDUCE_ATTEMPT_DEATH_H
#define MAPREDUCE_ATTEMPT_DEATH_H

#include <stddef.h>

#include "mapreduce/attempt/zygote.h"
#include "mapreduce/mapreduce.h"

/* Describe the wait status @status, or @reason if the zygote ended the attempt,
 * with the limit of @o that was met, if one was. At most @len bytes with the
 * final NUL. Any thread. */
void death_describe(const struct mr_options *o,
                    enum zygote_reason reason,
                    int status,
                    char *out,
                    size_t len);

#endif /* MAPREDUCE_ATTEMPT_DEATH_H */
