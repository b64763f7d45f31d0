/* A line at a time; whatever is no section and no setting is skipped, as AWS's
 * tools do.
 */
#include "base/objects/aws_file.h"

#include "base/core/buf.h"

/* The name in brackets, blanks in it made one; empty: @line is no section. */
static struct slice section_name(struct slice line)
{
    size_t end = slice_find_byte(line, ']');
    if (line.len < 2 || line.data[0] != '[' || end == line.len)
        return SLICE_EMPTY;
    return slice_trim(slice_sub(line, 1, end));
}

static bool is_comment(struct slice s)
{
    return s.len == 0 || s.data[0] == '#' || s.data[0] == ';';
}

/* Is @name, below @above if that is not empty, the one that @want says? */
static bool is_name(struct slice above, struct slice name, struct slice want)
{
    if (above.len == 0)
        return slice_eq(name, want);
    return want.len == above.len + 1 + name.len &&
           slice_starts_with(want, above) && want.data[above.len] == '.' &&
           slice_ends_with(want, name);
}

void aws_file_get(struct slice text,
                  const char *section,
                  const char *name,
                  struct buf *out)
{
    bool inside = false;
    struct slice above = SLICE_EMPTY;
    buf_clear(out);
    while (text.len > 0) {
        size_t end = slice_find_byte(text, '\n');
        struct slice raw = slice_sub(text, 0, end);
        struct slice line = slice_trim(raw);
        bool indented = raw.len && (raw.data[0] == ' ' || raw.data[0] == '\t');
        struct slice found = section_name(line);
        size_t equals = slice_find_byte(line, '=');
        struct slice left = slice_trim(slice_sub(line, 0, equals));
        struct slice right = slice_trim(slice_sub(line, equals + 1, line.len));
        text = slice_sub(text, end + 1, text.len);
        if (is_comment(line))
            continue;
        if (found.len > 0) {
            inside = slice_eq_str(found, section);
            above = SLICE_EMPTY;
            continue;
        }
        if (!inside || equals == line.len)
            continue;
        if (!indented)
            above = SLICE_EMPTY;
        if (!indented && right.len == 0)
            above = left;
        else if (is_name(above, left, slice_str(name))) {
            buf_clear(out);
            buf_append_slice(out, right);
        }
    }
}
