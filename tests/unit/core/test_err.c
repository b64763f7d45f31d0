/* Messages grow from the cause outwards, are cut and never overflow. */
#include <errno.h>
#include <string.h>

#include "base/core/err.h"
#include "tests/lib/check_main.h"

/* The leaf speaks first and stands last; the nearest hint stays. */
START_TEST(test_wrapping)
{
    struct err err = ERR_INIT;
    struct err copy = ERR_INIT;
    ck_assert_int_eq(err_set(&err, ERR_CORRUPT, "bad %s", "magic"),
                     ERR_CORRUPT);
    err_hint(&err, "restore it");
    err_wrap(&err, "footer");
    err_wrap(&err, "table %06d.sst", 42);
    err_hint(&err, "too late");
    ck_assert_str_eq(err.text, "table 000042.sst: footer: bad magic");
    ck_assert_str_eq(err.hint, "restore it");
    ck_assert_int_eq(err.code, ERR_CORRUPT);
    ck_assert_int_eq(err_copy(&copy, &err), ERR_CORRUPT);
    ck_assert_str_eq(copy.text, err.text);
    err_set(&err, ERR_IO, "again");
    ck_assert_str_eq(err.hint, "");
}

END_TEST

/* A detail stays beside the text until the next error. */
START_TEST(test_details)
{
    struct err err = ERR_INIT;
    char huge[2 * ERR_SUBJECT_BYTES];
    memset(huge, 'x', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    err_set(&err, ERR_UNAVAILABLE, "not the leader");
    err_set_detail(&err, ERR_DETAIL_NOT_LEADER, "host:7201");
    err_wrap(&err, "create /x");
    ck_assert_int_eq(err.detail, ERR_DETAIL_NOT_LEADER);
    ck_assert_str_eq(err.subject, "host:7201");
    err_set(&err, ERR_EXHAUSTED, "over its rate");
    ck_assert_int_eq(err.detail, ERR_DETAIL_NONE);
    ck_assert_str_eq(err.subject, "");
    err_set_retry(&err, 7000);
    ck_assert_uint_eq(err.retry_us, 7000);
    err_set_errno(&err, ENOENT, "open x");
    ck_assert_int_eq(err.detail, ERR_DETAIL_NONE);
    ck_assert_uint_eq(err.retry_us, 0);
    err_set_detail(&err, ERR_DETAIL_NO_INPUT, huge); /* None, not half of it. */
    ck_assert_str_eq(err.subject, "");
    err_set_detail(NULL, ERR_DETAIL_NO_INPUT, "");
    err_set_retry(NULL, 1);
}

END_TEST

/* Any length of text keeps within the struct and NUL-terminated. */
START_TEST(test_long_texts)
{
    struct err err = ERR_INIT;
    char text[2 * ERR_TEXT_BYTES];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (size_t len = ERR_TEXT_BYTES - 20; len < ERR_TEXT_BYTES + 20; len++) {
        err_set(&err, ERR_IO, "%.*s", (int)len, text);
        ck_assert_uint_lt(strlen(err.text), ERR_TEXT_BYTES);
        err_wrap(&err, "%.*s", (int)len, text);
        ck_assert_uint_lt(strlen(err.text), ERR_TEXT_BYTES);
        err_set_errno(&err, ENOSPC, "%.*s", (int)len, text);
        ck_assert_uint_lt(strlen(err.text), ERR_TEXT_BYTES);
        err_hint(&err, "%.*s", (int)len, text);
        ck_assert_uint_lt(strlen(err.hint), ERR_HINT_BYTES);
    }
}

END_TEST

/* The system's codes become ours; NULL takes the code alone. */
START_TEST(test_codes)
{
    struct err err = ERR_INIT;
    ck_assert_int_eq(err_set_errno(&err, ENOSPC, "write f"), ERR_FULL);
    ck_assert_str_eq(err.text, "write f: No space left on device");
    ck_assert_int_eq(err_set_errno(NULL, EDQUOT, "x"), ERR_FULL);
    ck_assert_int_eq(err_set_errno(NULL, ENOENT, "x"), ERR_NOTFOUND);
    ck_assert_int_eq(err_set_errno(NULL, EEXIST, "x"), ERR_EXISTS);
    ck_assert_int_eq(err_set_errno(NULL, EACCES, "x"), ERR_DENIED);
    ck_assert_int_eq(err_set_errno(NULL, ENOMEM, "x"), ERR_NOMEM);
    ck_assert_int_eq(err_set_errno(NULL, EIO, "x"), ERR_IO);
    ck_assert_int_eq(err_set(NULL, ERR_BUSY, "x"), ERR_BUSY);
    err_wrap(NULL, "x");
    err_hint(NULL, "x");
    ck_assert_str_eq(err_name(ERR_NOTFOUND), "not found");
    ck_assert_str_eq(err_name(ERR_OK), "ok");
    ck_assert_str_eq(err_name(-999), "unknown error");
}

END_TEST

TEST_MAIN("err", test_wrapping, test_details, test_long_texts, test_codes)
