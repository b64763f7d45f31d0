/* Addresses of the archive are taken apart by hand, not by a parser of URLs:
 * the archived URL behind the date is taken as it stands, with whatever odd
 * bytes pages wrote into it.
 */
#include "web/replay/replay_url.h"

#include <string.h>
#include <strings.h>

#include "base/core/macros.h"
#include "base/core/text.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/url.h"

#define DAY_US (INT64_C(86400) * 1000000)

static const char *const mods[] = {
    [REPLAY_MOD_NONE] = "",    [REPLAY_MOD_ID] = "id_", [REPLAY_MOD_MP] = "mp_",
    [REPLAY_MOD_IF] = "if_",   [REPLAY_MOD_FR] = "fr_", [REPLAY_MOD_JS] = "js_",
    [REPLAY_MOD_ESM] = "esm_", [REPLAY_MOD_CS] = "cs_", [REPLAY_MOD_IM] = "im_",
    [REPLAY_MOD_OE] = "oe_",
};

const char *replay_mod_name(enum replay_mod mod)
{
    return mods[mod];
}

/* The modifier that is all of @s. One that is unknown is an embedded file. */
static bool replay_mod_parse(struct slice s, enum replay_mod *out)
{
    for (size_t i = 0; i < ARRAY_LEN(mods); i++)
        if (slice_eq_str(s, mods[i])) {
            *out = (enum replay_mod)i;
            return true;
        }
    *out = REPLAY_MOD_OE;
    return s.len >= 3 && s.len <= 5 && s.data[s.len - 1] == '_';
}

static size_t count_digits(struct slice s)
{
    size_t n = 0;
    while (n < s.len && s.data[n] >= '0' && s.data[n] <= '9')
        n++;
    return n;
}

/* Does @s, the part before the first slash, say a date, a use or a star? */
static bool parse_when(struct slice s, struct replay_url *out)
{
    size_t n = count_digits(s);
    struct slice rest = slice_sub(s, n, s.len);
    if (s.len == 0 || n > REPLAY_DATE_DIGITS)
        return false;
    out->date = slice_sub(s, 0, n);
    if (slice_starts_with(rest, SLICE_LIT("*"))) {
        out->has_star = true;
        rest = slice_sub(rest, 1, rest.len);
    }
    return replay_mod_parse(rest, &out->mod);
}

bool replay_url_parse(struct slice rest, struct replay_url *out)
{
    size_t slash = slice_find_byte(rest, '/');
    *out = (struct replay_url){.date = SLICE_EMPTY, .url = rest};
    if (slash < rest.len && parse_when(slice_sub(rest, 0, slash), out))
        out->url = slice_sub(rest, slash + 1, rest.len);
    else
        *out = (struct replay_url){.date = SLICE_EMPTY, .url = rest};
    if (out->has_star && slice_ends_with(out->url, SLICE_LIT("*"))) {
        out->is_prefix = true;
        out->url = slice_sub(out->url, 0, out->url.len - 1);
    }
    return out->url.len > 0;
}

/* The length of "http:" at the front of @s, or 0. "host:80/" has none. */
static size_t scheme_length(struct slice s)
{
    static const char *const known[] = {"http:", "https:", "ftp:"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        size_t n = strlen(known[i]);
        if (s.len > n && strncasecmp(s.data, known[i], n) == 0 &&
            s.data[n] == '/')
            return n;
    }
    return 0;
}

/* An absolute URI of another kind: "urn:a". */
static bool is_other_uri(struct slice s)
{
    return slice_starts_with(s, SLICE_LIT("urn:")) ||
           slice_starts_with(s, SLICE_LIT("dns:"));
}

bool replay_url_absolute(struct slice url, struct buf *out)
{
    struct buf text = BUF_INIT;
    size_t n = scheme_length(url);
    bool ok;
    if (is_other_uri(url)) {
        buf_append_slice(&text, url);
    } else {
        buf_append(&text, n ? url.data : "http:", n ? n : 5);
        url = slice_sub(url, n, url.len);
        while (url.len && url.data[0] == '/')
            url = slice_sub(url, 1, url.len);
        buf_append_str(&text, "//");
        buf_append_slice(&text, url);
    }
    ok = url_normalise(buf_slice(&text), out);
    buf_close(&text);
    return ok;
}

/* The last second of the month that begins at @us. */
static int64_t end_of_month(int64_t us)
{
    int64_t year;
    unsigned month, day;
    text_date_from_days(us / DAY_US - (us % DAY_US < 0), &year, &month, &day);
    year += month == 12;
    month = month % 12 + 1;
    return text_days_from_date(year, month, 1) * DAY_US - 1000000;
}

bool replay_date_parse(struct slice digits, int64_t *us)
{
    char text[] = "00001231235959";
    int64_t first;
    size_t n;
    if (digits.len == 0 || digits.len > REPLAY_DATE_DIGITS ||
        count_digits(digits) != digits.len)
        return false;
    /* "2", "20": what centuries there are is not asked for. */
    if (digits.len < 4) {
        char year[4] = "1999";
        memcpy(year, digits.data, digits.len);
        if (digits.len == 1 && year[0] == '2')
            memcpy(year, "2999", 4);
        return date_parse(slice_make(year, 4), us);
    }
    /* An odd digit is dropped: "20141" is 2014. */
    n = digits.len & ~(size_t)1;
    memcpy(text, digits.data, n);
    if (n == 6 && date_parse(slice_make(text, 6), &first)) {
        *us = end_of_month(first);
        return true;
    }
    return date_parse(slice_make(text, REPLAY_DATE_DIGITS), us);
}
