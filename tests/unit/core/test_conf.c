/* Configuration files say what they mean, and mistakes are named by line. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/macros.h"
#include "tests/lib/check_main.h"

static struct conf *conf;
static struct err err;

static int parse(const char *text)
{
    err = ERR_INIT;
    return conf_parse(slice_str(text), "q.conf", &conf, &err);
}

/* Keys, sections, comments, quotes, repetition. */
START_TEST(test_all_forms)
{
    uint64_t v = 7;
    bool on = false;
    ck_assert_int_eq(parse("# comment\n"
                           "data = /var/lib # here\n"
                           "\r\n"
                           "[server]\r\n"
                           "  listen=\"a b#c\\n\" # x\n"
                           "url = http://x/#frag\n"
                           "block = 64KiB\n"
                           "ttl = 7d\n"
                           "peer = one\n"
                           "peer = two\n"
                           "on = yes"),
                     0);
    ck_assert_str_eq(conf_get(conf, "", "data"), "/var/lib");
    ck_assert_str_eq(conf_get(conf, "server", "listen"), "a b#c\n");
    ck_assert_str_eq(conf_get(conf, "server", "url"), "http://x/#frag");
    ck_assert_ptr_null(conf_get(conf, "server", "data"));
    ck_assert_int_eq(conf_get_bytes(conf, "server", "block", &v, &err), 0);
    ck_assert_uint_eq(v, 65536);
    ck_assert_int_eq(conf_get_duration(conf, "server", "ttl", &v, &err), 0);
    ck_assert_uint_eq(v, UINT64_C(604800000000));
    ck_assert_int_eq(conf_get_u64(conf, "server", "none", &v, &err), 0);
    ck_assert_uint_eq(v, UINT64_C(604800000000));
    ck_assert_int_eq(conf_get_bool(conf, "server", "on", &on, &err), 0);
    ck_assert(on);
    ck_assert_str_eq(conf_get(conf, "server", "peer"), "two");
    ck_assert_int_eq(conf_check_known(conf, &err), 0);
    conf_free(conf);
}

END_TEST

static void print_setting(void *ctx, const struct conf_setting *s)
{
    buf_printf(ctx, "%s.%s=%s:%u ", s->section, s->key,
               s->value ? s->value : "-", s->line);
}

/* Each key that was asked for is told once, with the value in force and its
 * line; those of equal names in two sections are two. */
START_TEST(test_known_settings)
{
    struct buf b = BUF_INIT;
    uint64_t v = 7;
    ck_assert_int_eq(parse("[a]\nlog = 1\nlog = 2\nother = 3\n[b]\n"), 0);
    ck_assert_int_eq(conf_get_u64(conf, "a", "log", &v, &err), 0);
    ck_assert_ptr_nonnull(conf_get(conf, "a", "log"));
    ck_assert_ptr_null(conf_get(conf, "b", "log"));
    conf_each(conf, print_setting, &b);
    ck_assert_str_eq(buf_cstr(&b), "a.log=2:3 b.log=-:0 ");
    buf_close(&b);
    conf_free(conf);
}

END_TEST

/* Each malformed line is refused with its number. */
START_TEST(test_malformed)
{
    static const char *const texts[] = {
        "a = 1\nnonsense\n", "a = 1\n[server\n",     "a = 1\n[]\n",
        "a = 1\n= 2\n",      "a = 1\nb = \"x\n",     "a = 1\nb = \"x\" y\n",
        "a = 1\nb c = 2\n",  "a = 1\nb = \"\\q\"\n", "a = 1\nb = \"\\0\"\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        ck_assert_int_eq(parse(texts[i]), ERR_INVALID);
        ck_assert_msg(strstr(err.text, "q.conf:2: ") == err.text, "%s",
                      err.text);
        ck_assert_ptr_null(conf);
    }
}

END_TEST

/* A value of the wrong kind and a misspelt key are named. */
START_TEST(test_wrong_use)
{
    uint64_t v = 7;
    ck_assert_int_eq(parse("\nblock = big\nblok = 3\n"), 0);
    ck_assert_int_eq(conf_get_bytes(conf, "", "block", &v, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "q.conf:2: block: size \"big\""));
    ck_assert_uint_eq(v, 7);
    ck_assert_int_eq(conf_check_known(conf, &err), ERR_INVALID);
    ck_assert_str_eq(err.text, "q.conf:3: unknown key blok");
    ck_assert_str_eq(err.hint, "did you mean block?");
    conf_free(conf);
}

END_TEST

/* Of one section all is known, of another not yet. */
START_TEST(test_sections_are_checked_apart)
{
    ck_assert_int_eq(parse("[a]\nblock = 1\n[b]\nblok = 3\n"), 0);
    ck_assert_ptr_nonnull(conf_get(conf, "a", "block"));
    ck_assert_int_eq(conf_check_section(conf, "a", &err), 0);
    ck_assert_int_eq(conf_check_section(conf, "b", &err), ERR_INVALID);
    ck_assert_str_eq(err.text, "q.conf:4: unknown key blok in section [b]");
    conf_free(conf);
}

END_TEST

TEST_MAIN("conf",
          test_all_forms,
          test_malformed,
          test_wrong_use,
          test_known_settings,
          test_sections_are_checked_apart)
