/* Parsing of the text of a node's status, a line each for the node and for
 * its roles. The text is for people as well, so unknown words are passed
 * over. */
#include "cli/status_text.h"

/* The line up to the next line feed, which is taken from *@rest. */
static struct slice next_line(struct slice *rest)
{
    size_t end = slice_find_byte(*rest, '\n');
    struct slice line = slice_sub(*rest, 0, end);
    *rest = slice_sub(*rest, end + 1, rest->len);
    return line;
}

struct slice status_about(struct slice text)
{
    return next_line(&text);
}

struct slice status_roles(struct slice text)
{
    next_line(&text);
    return text;
}

bool status_next_role(struct slice *rest,
                      struct slice *role,
                      struct slice *pairs)
{
    struct slice line;
    size_t colon;
    if (rest->len == 0)
        return false;
    line = next_line(rest);
    colon = slice_find_byte(line, ':');
    *role = slice_sub(line, 0, colon);
    *pairs = slice_sub(line, colon + 1, line.len);
    return true;
}

bool status_next_pair(struct slice *line,
                      struct slice *key,
                      struct slice *value)
{
    size_t end = slice_find_byte(*line, '=');
    char stop = ' ';
    if (end == line->len)
        return false;
    *key = slice_trim(slice_sub(*line, 0, end));
    *line = slice_sub(*line, end + 1, line->len);
    if (line->len && line->data[0] == '"') {
        stop = '"';
        *line = slice_sub(*line, 1, line->len);
    }
    end = slice_find_byte(*line, stop);
    *value = slice_sub(*line, 0, end);
    *line = slice_sub(*line, end + 1, line->len);
    return true;
}

struct slice status_value(struct slice pairs, const char *wanted)
{
    struct slice key;
    struct slice value;
    while (status_next_pair(&pairs, &key, &value))
        if (slice_eq_str(key, wanted))
            return value;
    return SLICE_EMPTY;
}

bool status_role(struct slice text, const char *role, struct slice *pairs)
{
    struct slice rest = status_roles(text);
    struct slice name;
    while (status_next_role(&rest, &name, pairs))
        if (slice_eq_str(name, role))
            return true;
    *pairs = SLICE_EMPTY;
    return false;
}

bool status_leads(struct slice pairs)
{
    return slice_eq_str(status_value(pairs, "state"), "leader") ||
           slice_eq_str(status_value(pairs, "master"), "yes");
}
