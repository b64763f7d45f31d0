/* A compiled program from the inside, for program.c and the machine. It owns
 * its source, tree, types and code in one arena, and is immutable once
 * compiled. */
#ifndef SAWZALL_LITE_PROGRAM_H
#define SAWZALL_LITE_PROGRAM_H

#include "base/core/arena.h"
#include "sawzall-lite/checker/check_program.h"
#include "sawzall-lite/generator/opcodes.h"
#include "sawzall-lite/sawzall.h"

struct saw_program {
    struct arena arena; /* Of everything below. */
    struct saw_unit unit;
    struct saw_code_pool pool;
    uint64_t fingerprint; /* Of its tables: states merge only if equal. */
    struct slice source;
    bool ignore_undefs;
    bool defer_tables;
    bool restricted;
};

/* Whether it calls an intrinsic with @flag, a SAW_BUILTIN_*. */
bool saw_program__calls(const struct saw_program *p, unsigned flag);

#endif /* SAWZALL_LITE_PROGRAM_H */
