/* The checked tree of a program in readable form, for `quarry saw dump`. */
#ifndef SAWZALL_LITE_CHECKER_DUMP_TREE_H
#define SAWZALL_LITE_CHECKER_DUMP_TREE_H

#include "base/core/buf.h"
#include "sawzall-lite/checker/check_program.h"

/* Append the tree of @u, which is free of errors: a node a line. Any thread. */
void saw_tree_dump(const struct saw_unit *u, struct buf *out);

#endif /* SAWZALL_LITE_CHECKER_DUMP_TREE_H */
