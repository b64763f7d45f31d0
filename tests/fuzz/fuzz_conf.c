/* No text makes the parser of configuration files, or those of numbers, sizes,
 * times and escapes, read outside it, hang, or answer twice in two ways. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/core/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_conf(struct slice in)
{
    struct conf *c;
    struct err err = ERR_INIT;
    uint64_t v = 0;
    bool on = false;
    int rc = conf_parse(in, "fuzz.conf", &c, &err);
    INVARIANT((rc == 0) == (c != NULL));
    if (rc) {
        INVARIANT(strncmp(err.text, "fuzz.conf:", 10) == 0);
        return;
    }
    conf_get(c, "", "a");
    if (conf_get_bytes(c, "", "b", &v, &err) ||
        conf_get_duration(c, "", "c", &v, &err) ||
        conf_get_u64(c, "", "d", &v, &err) ||
        conf_get_bool(c, "", "e", &on, &err) || conf_check_known(c, &err))
        INVARIANT(err.code == ERR_INVALID);
    conf_free(c);
}

/* Escaped and read back, any bytes are the same. */
static void check_escapes(struct slice in)
{
    struct buf escaped = BUF_INIT;
    struct buf back = BUF_INIT;
    text_put_escaped(&escaped, in, '"');
    INVARIANT(utf8_valid(buf_slice(&escaped)));
    INVARIANT(text_unescape(buf_slice(&escaped), &back, NULL) == 0);
    INVARIANT(slice_eq(buf_slice(&back), in));
    buf_clear(&back);
    if (text_unescape(in, &back, NULL) == 0)
        INVARIANT(back.len <= in.len * 2);
    buf_clear(&escaped);
    text_put_json(&escaped, in);
    INVARIANT(utf8_valid(buf_slice(&escaped)));
    text_put_csv(&escaped, in);
    INVARIANT(utf8_columns(in) <= 2 * in.len);
    buf_close(&escaped);
    buf_close(&back);
}

/* A value that parses is printed as a text that parses to the same value. */
static void check_values(struct slice in)
{
    struct buf b = BUF_INIT;
    int64_t time;
    int64_t time_back;
    uint64_t v;
    if (text_parse_time(in, &time, NULL) == 0) {
        text_put_time(&b, time);
        INVARIANT(text_parse_time(buf_slice(&b), &time_back, NULL) == 0);
        INVARIANT(time == time_back);
    }
    if (text_parse_bytes(in, &v, NULL) == 0)
        text_put_bytes(&b, v);
    if (text_parse_duration(in, &v, NULL) == 0)
        text_put_duration(&b, v);
    buf_close(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    check_conf(in);
    check_escapes(in);
    check_values(in);
    return 0;
}
