/* Explained scans of the command line. The record has no form as CSV, so text
 * is printed then.
 */
#include "cli/explain_args.h"

#include <stdio.h>

const struct option explain_options[] = {
    {"explain", 0, NULL,
     "after the rows, on standard error: what was read,\n"
     "from where, and how long each part took"},
    {"explain-only", 0, NULL, "the same on standard output, without the rows"},
    {NULL, 0, NULL, NULL},
};

bool explain_args_only(const struct args *args)
{
    return args_flag(args, "explain-only");
}

struct quarry_explain *explain_args_begin(const struct args *args,
                                          struct quarry_read_options *options)
{
    if (args_flag(args, "explain") || explain_args_only(args))
        options->explain = quarry_explain_new();
    return options->explain;
}

void explain_args_print(struct cli *cli,
                        const struct args *args,
                        struct quarry_explain *e,
                        int rc)
{
    FILE *to = explain_args_only(args) ? stdout : stderr;
    struct buf text = BUF_INIT;
    if (e && cli->format == FORMAT_JSON)
        quarry_explain_json(e, &text);
    else if (e)
        quarry_explain_text(e, &text);
    (void)fflush(stdout);
    if (rc == 0 && text.len)
        (void)fwrite(text.data, 1, text.len, to);
    buf_close(&text);
    quarry_explain_free(e);
}
