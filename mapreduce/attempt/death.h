/* How the process of an attempt ended, in words. */
#ifndef MAPREDUCE_ATTEMPT_DEATH_H
#define MAPREDUCE_ATTEMPT_DEATH_H

#include <stddef.h>

#include "mapreduce/attempt/zygote.h"
#include "mapreduce/mapreduce.h"

/* What a wait status @status says, and @reason if the zygote ended it; by which
 * of the limits in @o, if one was met. At most @len bytes with the final NUL.
 * Any thread. */
void death_describe(const struct mr_options *o,
                    enum zygote_reason reason,
                    int status,
                    char *out,
                    size_t len);

#endif /* MAPREDUCE_ATTEMPT_DEATH_H */
