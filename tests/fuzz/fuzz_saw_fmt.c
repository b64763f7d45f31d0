/* Programs nobody vouches for, and what the formatter makes of them: what
 * parses is laid out with the same tokens (the formatter asserts it), and
 * laying that out again changes nothing.
 *
 * If the first byte is a '~', the rest chooses words and what stands between
 * them; otherwise the input is the text of a program.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "sawzall-lite/sawzall.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {
    "x",
    "y",
    "=",
    ";",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "if (a)",
    "else",
    "while (b)",
    "do",
    "for (",
    "emit t",
    "<-",
    "weight",
    "switch (c) {",
    "case",
    "default:",
    "when (i: each int;",
    "function(",
    "return",
    "?{",
    "result",
    "-",
    "+",
    "++",
    "--",
    "!",
    "not",
    ".",
    "1",
    "2.5",
    "\"s\"",
    "`r`",
    "int",
    "array of",
    "map[",
    "type T =",
    "static",
    "table sum of",
    "proto {",
    "@ 1",
    "$",
    "&&",
    "break;",
    "x = 1;",
    "f();",
    "{ x; }",
    "a: int",
    "include \"f\"",
    "T",
    "12T",
};
static const char *const blanks[] = {" ",      " ",      "",  "\n",
                                     "\n\n\n", " # c\n", "\t"};

static void compose(const uint8_t *data, size_t size, struct buf *out)
{
    size_t i;

    for (i = 0; i + 1 < size; i += 2) {
        buf_append_str(out, words[data[i] % ARRAY_LEN(words)]);
        buf_append_str(out, blanks[data[i + 1] % ARRAY_LEN(blanks)]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf source = BUF_INIT;
    struct buf once = BUF_INIT;
    struct buf twice = BUF_INIT;
    struct buf diagnostics = BUF_INIT;

    if (size > 0 && data[0] == '~')
        compose(data + 1, size - 1, &source);
    else
        buf_append(&source, data, size);
    if (saw_format(buf_slice(&source), "p", &once, &diagnostics) == 0) {
        int rc = saw_format(buf_slice(&once), "p", &twice, &diagnostics);
        INVARIANT(rc == 0);
        INVARIANT(slice_eq(buf_slice(&once), buf_slice(&twice)));
    }
    buf_close(&source);
    buf_close(&once);
    buf_close(&twice);
    buf_close(&diagnostics);
    return 0;
}
