/* Making a bundle: each entry is scrubbed, cut to its bound and written at
 * once, so that the memory needed is that of one entry. Entries that could
 * not be had are listed in the MANIFEST instead. */
#include "cli/bundle/bundle.h"

#include <string.h>

#include "base/core/panic.h"
#include "cli/bundle/archive.h"
#include "cli/bundle/scrub.h"
#include "cli/cli.h"

/* Characters of names that are left. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || strchr("._-/:", c);
}

/* Names have at most ARCHIVE_NAME_MAX bytes, no odd ones and no "..". */
static void name_make(const char *name, char out[ARCHIVE_NAME_MAX + 1])
{
    size_t len = 0;
    for (; *name && len < ARCHIVE_NAME_MAX; name++) {
        bool follows_dot = len > 0 && out[len - 1] == '.';
        out[len++] =
            is_plain(*name) && !(*name == '.' && follows_dot) ? *name : '_';
    }
    out[len] = '\0';
    POST(len <= ARCHIVE_NAME_MAX);
}

static void write_entry(struct bundle *b, const char *name, struct slice text)
{
    char plain[ARCHIVE_NAME_MAX + 1];
    PRE(b->bytes + text.len <= BUNDLE_BYTES_MAX);
    PRE(b->entry_count < BUNDLE_ENTRIES_MAX);
    name_make(name, plain);
    if (b->code)
        return;
    b->code = archive_add(b->archive, plain, text, &b->err);
    b->entry_count++;
    b->bytes += text.len;
    buf_printf(&b->list, "%9zu  %s\n", text.len, plain);
}

/* Is there room for @len bytes more? Some is kept for the MANIFEST. */
static bool has_room(struct bundle *b, const char *name, size_t len)
{
    struct err why = ERR_INIT;
    size_t kept_bytes = b->is_ending ? 0 : 2 * BUNDLE_ENTRY_BYTES_MAX;
    size_t kept_entries = b->is_ending ? 0 : 1;
    if (b->entry_count + kept_entries < BUNDLE_ENTRIES_MAX &&
        b->bytes + len + kept_bytes <= BUNDLE_BYTES_MAX)
        return true;
    (void)err_set(&why, ERR_FULL, "the bundle is full (%zu entries, %zu MiB)",
                  b->entry_count, b->bytes >> 20);
    bundle_miss(b, name, &why);
    return false;
}

static void pack_text(struct bundle *b,
                      const char *name,
                      struct slice text,
                      enum scrub_form form)
{
    struct slice cut = slice_sub(text, 0, BUNDLE_ENTRY_BYTES_MAX);
    struct buf clean = BUF_INIT;
    scrub_text(b->scrub, cut, form, &clean);
    if (cut.len < text.len)
        buf_printf(&clean, "\n(%zu bytes more were left out)\n",
                   text.len - cut.len);
    if (has_room(b, name, clean.len))
        write_entry(b, name, buf_slice(&clean));
    buf_close(&clean);
}

void bundle_add(struct bundle *b, const char *name, struct slice text)
{
    pack_text(b, name, text, SCRUB_LINES);
}

void bundle_add_document(struct bundle *b, const char *name, json_t *doc)
{
    size_t form = JSON_REAL_PRECISION(12);
    char *text;
    scrub_document(b->scrub, doc);
    text = json_dumps(doc, form | JSON_INDENT(2));
    if (text && strlen(text) > BUNDLE_ENTRY_BYTES_MAX) {
        mem_free(text);
        text = json_dumps(doc, form | JSON_COMPACT);
    }
    if (text)
        pack_text(b, name, slice_str(text), SCRUB_JSON);
    mem_free(text);
}

void bundle_miss(struct bundle *b, const char *name, const struct err *why)
{
    struct buf line = BUF_INIT;
    PRE(why->code != 0);
    buf_printf(&line, "%s: %s\n", name, why->text);
    scrub_text(b->scrub, buf_slice(&line), SCRUB_LINES, &b->missed);
    b->missed_count++;
    buf_close(&line);
}

void bundle_progress(struct bundle *b, unsigned permille, const char *what)
{
    progress_share(&b->progress, permille, what);
}
