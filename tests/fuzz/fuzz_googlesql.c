/* Any bytes as a query: it is refused, or becomes text without a NUL in which
 * quotation marks are closed; nothing crashes. The same as a query of a view,
 * whose program has a bound. */
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "bigtable/googlesql/gsql_program.h"
#include "bigtable/googlesql/gsql_translate.h"

static int find(void *ctx,
                struct slice name,
                struct arena *arena,
                struct gsql_relation *out,
                struct err *err)
{
    struct slice *families = arena_alloc(arena, sizeof(*families));
    (void)ctx;
    (void)err;
    families[0] = SLICE_LIT("cf");
    out->table = name;
    out->families = families;
    out->family_count = 1;
    return 0;
}

/* Quotation marks of both kinds, as DuckDB reads them. */
static bool is_closed(struct slice sql)
{
    char open = '\0';
    for (size_t i = 0; i < sql.len; i++) {
        if (open)
            open = sql.data[i] == open ? '\0' : open;
        else if (sql.data[i] == '\'' || sql.data[i] == '"')
            open = sql.data[i];
    }
    return !open;
}

#define PROGRAM_BYTES_MAX ((size_t)60 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct gsql_options options = {.find = find};
    static struct gsql_program program;
    struct gsql_result r;
    struct arena arena;
    arena_init(&arena);
    if (gsql_translate(slice_make(data, size), &options, &arena, &r, NULL) ==
            0 &&
        (memchr(r.sql.data, '\0', r.sql.len) || !is_closed(r.sql)))
        abort();
    if (gsql_program_make(slice_make(data, size), &options, &arena, &program,
                          NULL) == 0 &&
        (program.text.len > PROGRAM_BYTES_MAX ||
         memchr(program.text.data, '\0', program.text.len)))
        abort();
    arena_close(&arena);
    return 0;
}
