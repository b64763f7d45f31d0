/* SPECs of the command line: "kind:path?parameters".
 *
 * The kinds and the parameters of inputs are the formats' (input/formats.h);
 * the name and the one parameter of outputs are parsed here. */
#include <ctype.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/input/formats.h"
#include "mapreduce/job.h"

/* "file:GLOB, records:GLOB or …", of the inputs or of the outputs. */
static void list_usages(bool outputs, struct buf *out)
{
    const char *pending = NULL;
    for (unsigned i = 0; input_format_at(i); i++) {
        const struct input_format *f = input_format_at(i);
        const char *usage = outputs ? f->output : f->usage;
        if (!usage)
            continue;
        if (pending)
            buf_printf(out, "%s%s", out->len > 0 ? ", " : "", pending);
        pending = usage;
    }
    buf_printf(out, " or %s", pending);
}

static int spec_bad(struct err *err, const char *text, const char *why)
{
    struct buf inputs = BUF_INIT;
    struct buf outputs = BUF_INIT;
    int rc = err_set(err, ERR_INVALID, "\"%s\": %s", text, why);
    list_usages(false, &inputs);
    list_usages(true, &outputs);
    err_hint(err, "an input is %s, an output %s", buf_cstr(&inputs),
             buf_cstr(&outputs));
    buf_close(&inputs);
    buf_close(&outputs);
    return rc;
}

/* "name=" before an output's kind. */
static const char *take_name(struct mr_spec *s, const char *text)
{
    size_t n = strcspn(text, "=:/?");
    if (n == 0 || text[n] != '=')
        return text;
    s->name = mem_strndup(text, n);
    return text + n + 1;
}

/* Parse the only parameter of a table that is written. */
static int take_output_option(struct mr_spec *s,
                              const char *text,
                              const char *p,
                              struct err *err)
{
    s->bulk = strcmp(p, "bulk=yes") == 0;
    if (s->bulk || strcmp(p, "bulk=no") == 0)
        return 0;
    return spec_bad(
        err, text,
        "the option of a table that is written is bulk=yes or bulk=no");
}

int mr_spec_parse(struct mr_spec *s,
                  const char *text,
                  bool output,
                  struct world *world,
                  struct err *err)
{
    const struct input_format *format;
    const char *wrong;
    const char *p = text;
    int rc = 0;
    size_t n;
    *s = (struct mr_spec){.kind = MR_SPEC_FILE};
    if (output)
        p = take_name(s, p);
    format = input_format_of_text(p);
    if (format)
        p += strlen(format->prefix);
    else
        format = input_format_at(0);
    s->kind = format->kind;
    s->view = s->live = format->is_view;
    n = format->parameters ? strcspn(p, "?") : strlen(p);
    while (output && n > 1 && p[n - 1] == '/')
        n--;
    s->path = mem_strndup(p, n);
    if (n == 0)
        return spec_bad(err, text, "nothing after the kind");
    if (output && !format->output)
        return spec_bad(err, text, "this kind of file cannot be written");
    p += strcspn(p, "?");
    if (!format->parameters || *p == '\0')
        return 0;
    if (output)
        return take_output_option(s, text, p + 1, err);
    wrong = format->parameters(s, p + 1, world, &rc, err);
    return wrong ? spec_bad(err, text, wrong) : rc;
}

static void put_escaped(struct buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (isalnum(c))
            buf_append_byte(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

int mr_spec_inline(const char *text,
                   struct world *world,
                   struct buf *out,
                   struct err *err)
{
    struct mr_spec s;
    const char *p = strchr(text, '?');
    int rc = mr_spec_parse(&s, text, false, world, err);
    if (rc == 0 && (s.kind != MR_SPEC_TABLE || !s.program)) {
        buf_append_str(out, text);
    } else if (rc == 0) {
        buf_append(out, text, (size_t)(p - text));
        for (char sep = '?'; *p; sep = '&') {
            size_t n = strcspn(++p, "&");
            bool saw = strncmp(p, "saw=", 4) == 0;
            buf_append_byte(out, sep);
            if (saw) {
                buf_append_str(out, "program=");
                put_escaped(out, s.program, s.program_len);
            } else {
                buf_append(out, p, n);
            }
            p += n;
        }
    }
    mr_spec_close(&s);
    return rc;
}
