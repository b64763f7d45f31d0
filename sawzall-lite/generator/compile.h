/* The generator: a checked tree to instructions of the register machine.
 *
 * It walks the tree once, function by function. A function whose conditional
 * jumps turn out longer than 16 bits reach is generated a second time with
 * long ones.
 */
#ifndef SAWZALL_LITE_GENERATOR_COMPILE_H
#define SAWZALL_LITE_GENERATOR_COMPILE_H

#include "base/core/arena.h"
#include "sawzall-lite/checker/check_program.h"
#include "sawzall-lite/generator/opcodes.h"
#include "sawzall-lite/sawzall.h"

/* Compile @u, which has no errors, into @out; memory from @a. False, with an
 * error in @d, when a function is larger than the machine can take. */
bool saw_compile_unit(struct arena *a,
                      const struct saw_unit *u,
                      const struct saw_compile_options *opts,
                      struct saw_diag *d,
                      struct saw_code_pool *out);

#endif /* SAWZALL_LITE_GENERATOR_COMPILE_H */
