/* quarry saw fmt: prints programs laid out in the usual way, or writes them
 * back with --write. With --check it changes nothing and reports files that
 * differ.
 */
#include "cli/saw_fmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "sawzall-lite/sawzall.h"

const struct option saw_fmt_options[] = {
    {"check", 0, NULL, "name the files that would change; fail if there are"},
    {"write", 'w', NULL, "write the files instead of printing them"},
    {NULL, 0, NULL, NULL},
};

/* Replace @path whole: a crash leaves the old text or the new one. */
static int saw_fmt_replace(const char *path, struct slice text, struct err *err)
{
    struct output_file f;
    int rc = output_file_open(&f, path, err);
    if (rc)
        return rc;
    if (fwrite(text.data, 1, text.len, f.out) != text.len)
        rc = err_set_errno(err, errno, "%s", path);
    return output_file_close(&f, rc, err);
}

static int format_file(const struct args *args,
                       const char *path,
                       size_t *changed,
                       struct err *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct buf source = BUF_INIT;
    struct buf text = BUF_INIT;
    struct buf diagnostics = BUF_INIT;
    bool same;
    int rc = cli_read_file(path, &source, err);
    if (!rc && saw_format(buf_slice(&source), path, &text, &diagnostics)) {
        fflush(stdout);
        fputs(buf_cstr(&diagnostics), stderr);
        rc = err_set(err, ERR_INVALID, "%s cannot be formatted", path);
        err_hint(err, "the errors are above");
    }
    same = slice_eq(buf_slice(&source), buf_slice(&text));
    *changed += !rc && !same;
    if (!rc && args_flag(args, "check") && !same)
        puts(path);
    else if (!rc && args_flag(args, "write") && !standard && !same)
        rc = saw_fmt_replace(path, buf_slice(&text), err);
    else if (!rc && !args_flag(args, "check") &&
             (standard || !args_flag(args, "write")))
        fwrite(buf_slice(&text).data, 1, text.len, stdout);
    buf_close(&source);
    buf_close(&text);
    buf_close(&diagnostics);
    return rc;
}

int saw_fmt_run(struct cli *cli, const struct args *args, struct err *err)
{
    size_t changed = 0;
    int rc = ERR_OK;
    (void)cli;
    if (args_flag(args, "check") && args_flag(args, "write"))
        return usage_error(args, err, "either --check or --write");
    for (size_t i = 0; i < args->word_count && !rc; i++)
        rc = format_file(args, args->words[i], &changed, err);
    if (!rc && changed > 0 && args_flag(args, "check")) {
        rc = err_set(err, ERR_INVALID, "%zu of %zu files would change", changed,
                     args->word_count);
        err_hint(err, "quarry saw fmt --write changes them");
    }
    return rc;
}
