/* Streaming: any executable as mapper or reducer, through lines.
 *
 * The mapper reads one line a record and writes lines "key\tvalue"; the reducer
 * reads such lines, sorted by key, and writes lines of output. A command is run
 * by the shell once an attempt (command_engine.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/engines/command_engine.h"
#include "mapreduce/engines/engine.h"
#include "mapreduce/task/task.h"

/* Lines are gathered up to this before they are written to the command. */
#define INPUT_BYTES ((size_t)64 << 10)

/* --- lines of rows ------------------------------------------------------- */

/* Bytes that would break a line apart are written \t, \n, \r and \\. */
static void append_escaped(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        const char *special = "\t\n\r\\";
        const char *p = s.data[i] ? strchr(special, s.data[i]) : NULL;
        if (p) {
            buf_append_byte(out, '\\');
            buf_append_byte(out, "tnr\\"[p - special]);
        } else {
            buf_append_byte(out, s.data[i]);
        }
    }
}

/* A line per cell: row, column, time, value. */
static void append_row(struct buf *out, const struct quarry_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        append_escaped(out, row->key);
        buf_append_byte(out, '\t');
        buf_append_slice(out, c->family);
        buf_append_byte(out, ':');
        append_escaped(out, c->qualifier);
        buf_printf(out, "\t%lld\t", (long long)c->timestamp_us);
        append_escaped(out, c->value);
        buf_append_byte(out, '\n');
    }
}

/* --- lines of the command ------------------------------------------------ */

/* Take the next field of @line, up to a tab. */
static struct slice next_field(struct slice *line)
{
    size_t n = slice_find_byte(*line, '\t');
    struct slice field = slice_sub(*line, 0, n);
    *line = slice_sub(*line, MIN_OF(n + 1, line->len), line->len);
    return field;
}

/* The reverse of append_escaped(). */
static void append_unescaped(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        static const char letters[] = "tnr\\";
        const char *p = s.data[i] == '\\' && i + 1 < s.len && s.data[i + 1]
                            ? strchr(letters, s.data[i + 1])
                            : NULL;
        buf_append_byte(out, p ? "\t\n\r\\"[p - letters] : s.data[i]);
        i += p != NULL;
    }
}

/* A cell as parsed from a line. */
struct cell_line {
    struct slice row; /* Escaped, like column and value. */
    struct slice column;
    size_t colon; /* In the column. */
    int64_t timestamp_us;
    struct slice value;
};

static bool take_time(struct slice s, int64_t *out)
{
    char *text = mem_strndup(s.data, s.len);
    char *end = text;
    bool whole;
    *out = MR_JOB_TIME;
    errno = 0;
    if (s.len > 0)
        *out = strtoll(text, &end, 10);
    whole = errno == 0 && end == text + s.len;
    mem_free(text);
    return whole;
}

/* Parse "row, column, time, value", or the same without a time. */
static bool take_cell(struct slice line, struct cell_line *c)
{
    struct slice time = SLICE_EMPTY;
    c->row = next_field(&line);
    c->column = next_field(&line);
    if (slice_find_byte(line, '\t') < line.len)
        time = next_field(&line);
    c->value = line;
    c->colon = slice_find_byte(c->column, ':');
    return c->row.len > 0 && c->colon < c->column.len &&
           take_time(time, &c->timestamp_us);
}

static void put_cell(struct command *c, struct mr_output *to, struct slice line)
{
    struct buf parts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    struct cell_line cell;
    char *family;
    if (!take_cell(line, &cell)) {
        if (c->task->code == 0)
            c->task->code =
                err_set(&c->task->err, ERR_INVALID,
                        "a line for a table is row, family:column, time (if "
                        "it has one) and value, with tabs between them: "
                        "\"%.*s\"",
                        (int)MIN_OF(line.len, (size_t)80), line.data);
        return;
    }
    family = mem_strndup(cell.column.data, cell.colon);
    append_unescaped(&parts[0], cell.row);
    append_unescaped(&parts[1],
                     slice_sub(cell.column, cell.colon + 1, cell.column.len));
    append_unescaped(&parts[2], cell.value);
    mr_put(to, buf_slice(&parts[0]), family, buf_slice(&parts[1]),
           cell.timestamp_us, buf_slice(&parts[2]));
    for (int i = 0; i < 3; i++)
        buf_close(&parts[i]);
    mem_free(family);
}

static void emit_line(struct command *c, struct slice line)
{
    bool emits = mr_is_map(c->task);
    bool writes = !emits || !c->task->setup->job->reduce;
    struct mr_output *to = writes ? mr_output(c->task, NULL) : NULL;
    if (writes && !to)
        return;
    if (writes && mr_output_is_table(to)) {
        put_cell(c, to, line);
    } else if (emits) {
        struct slice rest = line;
        struct slice key = next_field(&rest);
        mr_emit(c->task, key, rest);
    } else {
        mr_write(to, SLICE_EMPTY, line);
    }
}

/* A line "count NAME [BY]" or "note TEXT"; others are ignored, and all show
 * that the command lives. */
static void take_word(struct command *c, struct slice line)
{
    struct task_status *status = c->task->status;
    size_t space = slice_find_byte(line, ' ');
    struct slice what = slice_sub(line, 0, space);
    struct slice rest = slice_sub(line, MIN_OF(space + 1, line.len), line.len);
    STATUS_SET(status, values, STATUS_GET(status, values) + 1);
    if (slice_eq_str(what, "note")) {
        mr_note(c->task, rest);
    } else if (slice_eq_str(what, "count") && rest.len > 0) {
        char *name = mem_strndup(rest.data, rest.len);
        char *by = strchr(name, ' ');
        if (by)
            *by++ = '\0';
        mr_count(c->task, name, by ? strtoll(by, NULL, 10) : 1);
        mem_free(name);
    }
}

/* --- the combiner -------------------------------------------------------- */

/* A pipeline that sorts and combines the pairs of one task before they leave
 * it, with the status of each command that may fail. */
static char *combined_command(const struct mr_program *p)
{
    struct buf b = BUF_INIT;
    buf_printf(&b,
               "exec 4>&1\n"
               "status=$({ { ( %s\n) 3>&- 4>&-; echo $? >&3; } | "
               "LC_ALL=C sort -s -t '\t' -k1,1 3>&- 4>&- | "
               "{ ( %s\n) 3>&- >&4 4>&-; }; } 3>&1)\n"
               "last=$?\n"
               "[ $last -eq 0 ] || exit $last\n"
               "exit $status\n",
               p->mapper, p->combiner);
    return buf_take(&b);
}

/* --- the job's functions ------------------------------------------------- */

static int streaming_setup(struct mr_task *t, struct err *err)
{
    const struct engine *e = mr_task_engine(t);
    struct command *c;
    if (mr_is_map(t) && !e->program->mapper)
        return 0;
    c = mem_zalloc(1, sizeof(*c));
    c->task = t;
    c->text = mr_is_map(t) ? e->program->mapper : e->program->reducer;
    if (mr_is_map(t) && e->mapper)
        c->text = e->mapper;
    c->line = emit_line;
    c->word = take_word;
    mr_set_state(t, c);
    signal(SIGPIPE, SIG_IGN);
    return command_start(c, err);
}

static void streaming_teardown(struct mr_task *t)
{
    struct command *c = mr_state(t);
    if (!c)
        return;
    command_close(c);
    mem_free(c);
    mr_set_state(t, NULL);
}

static int flush_if_full(struct command *c, struct err *err)
{
    return c->input.len < INPUT_BYTES ? 0 : command_exchange(c, err);
}

static int streaming_map(struct mr_task *t,
                         const struct mr_record *record,
                         struct err *err)
{
    struct command *c = mr_state(t);
    if (record->row) {
        append_row(&c->input, record->row);
    } else {
        if (record->key.len > 0) {
            append_escaped(&c->input, record->key);
            buf_append_byte(&c->input, '\t');
            append_escaped(&c->input, record->value);
        } else {
            buf_append_slice(&c->input, record->value);
        }
        buf_append_byte(&c->input, '\n');
    }
    return flush_if_full(c, err);
}

/* Instead of a mapper: a line "key\tvalue" is a pair, as a record is. */
static int
emit_record(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    struct slice rest = record->value;
    struct slice key = record->key;
    if (record->row)
        return err_set(err, ERR_INVALID, "rows of a table need a mapper");
    if (key.len == 0)
        key = next_field(&rest);
    mr_emit(t, key, rest);
    return 0;
}

static int streaming_finish(struct mr_task *t, struct err *err)
{
    return command_finish(mr_state(t), err);
}

static int streaming_reduce(struct mr_task *t,
                            struct slice key,
                            struct mr_values *values,
                            struct err *err)
{
    struct command *c = mr_state(t);
    struct slice value;
    int rc = 0;
    while (rc == 0 && mr_values_next(values, &value)) {
        buf_append_slice(&c->input, key);
        buf_append_byte(&c->input, '\t');
        buf_append_slice(&c->input, value);
        buf_append_byte(&c->input, '\n');
        rc = flush_if_full(c, err);
    }
    return rc;
}

static int streaming_load(struct engine *e, struct err *err)
{
    const struct mr_program *p = e->program;
    bool reduces = p->reducer && p->reducer[0] != '\0';
    if (p->mapper && p->mapper[0] == '\0')
        return err_set(err, ERR_INVALID, "the mapper command is empty");
    if (p->mapper && p->combiner && p->combiner[0] != '\0' && reduces)
        e->mapper = combined_command(p);
    e->made = (struct mr_job){
        .abi_version = MR_ABI_VERSION,
        .name = "streaming",
        .help = "Run commands over lines.",
        .setup = streaming_setup,
        .teardown = streaming_teardown,
        .map = p->mapper ? streaming_map : emit_record,
        .map_end = p->mapper ? streaming_finish : NULL,
        .reduce = reduces ? streaming_reduce : NULL,
        .reduce_end = reduces ? streaming_finish : NULL,
        .engine = e,
        .any_params = true,
    };
    e->job = &e->made;
    return 0;
}

static bool streaming_takes(const struct mr_program *p)
{
    return p->mapper || p->reducer;
}

const struct engine_kind engine_streaming = {streaming_takes, streaming_load};
