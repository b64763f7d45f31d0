/* quarry completion: Tab in bash, zsh and fish. The scripts are short: they ask
 * `quarry completion --line` what may follow, so that a shell offers what the
 * commands' own tables say, and the tables and families of the store.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion.h"

/* A Tab does not wait longer for a cluster. */
#define REACH_US UINT64_C(1000000)

/* Each script parts -t TARGET from the rest of the line, and has the offers
 * printed, one a line. Offers end with a blank where a word is whole. */
static const struct {
    const char *shell;
    const char *script;
} scripts[] = {
    {"bash",
     "_quarry()\n"
     "{\n"
     "    local line=${COMP_LINE:0:COMP_POINT} word target= rest= takes= IFS\n"
     "    local -a words\n"
     "    read -ra words <<<\"$line\"\n"
     "    for word in \"${words[@]:1}\"; do\n"
     "        if [[ $takes ]]; then target=$word takes=\n"
     "        elif [[ $word == -t || $word == --target ]]; then takes=1\n"
     "        else rest+=\"$word \"; fi\n"
     "    done\n"
     "    [[ $line == *' ' ]] || rest=${rest% }\n"
     "    [[ $takes ]] && { compopt -o default; return; }\n"
     "    IFS=$'\\n'\n"
     "    COMPREPLY=($(quarry completion ${target:+-t} \\\n"
     "        ${target:+\"$target\"} \\\n"
     "        --line \"$rest\" 2>/dev/null))\n"
     "    # The part of a word before its last colon is not replaced.\n"
     "    word=${rest##* }\n"
     "    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
     "        COMPREPLY=(\"${COMPREPLY[@]#\"${word%\"${word##*:}\"}\"}\")\n"
     "    fi\n"
     "}\n"
     "complete -o nospace -F _quarry quarry\n"},
    {"zsh",
     "#compdef quarry\n"
     "_quarry()\n"
     "{\n"
     "    local word target rest takes\n"
     "    local -a offers\n"
     "    for word in \"${(@)words[2,CURRENT]}\"; do\n"
     "        if [[ -n $takes ]]; then target=$word takes=\n"
     "        elif [[ $word == -t || $word == --target ]]; then takes=1\n"
     "        else rest+=\"$word \"; fi\n"
     "    done\n"
     "    rest=${rest% }\n"
     "    offers=(\"${(@f)$(quarry completion ${target:+-t} $target \\\n"
     "        --line \"$rest\" 2>/dev/null)}\")\n"
     "    (( ${#offers} )) && compadd -Q -S '' -- $offers\n"
     "}\n"
     "if [ \"$funcstack[1]\" = _quarry ]; then\n"
     "    _quarry \"$@\"\n"
     "else\n"
     "    compdef _quarry quarry\n"
     "fi\n"},
    {"fish",
     "function __quarry_offers\n"
     "    set -l target\n"
     "    set -l rest\n"
     "    set -l takes\n"
     "    for word in (commandline -opc)[2..-1] (commandline -ct)\n"
     "        if set -q takes[1]\n"
     "            set target -t $word\n"
     "            set takes\n"
     "        else if contains -- $word -t --target\n"
     "            set takes 1\n"
     "        else\n"
     "            set -a rest $word\n"
     "        end\n"
     "    end\n"
     "    quarry completion $target --line (string join ' ' -- $rest) \\\n"
     "        2>/dev/null | string trim --right\n"
     "end\n"
     "complete -c quarry -f -a '(__quarry_offers)'\n"},
};

static const struct option completion_options[] = {
    {"line", 0, "TEXT",
     "print what the last word of a command line, without\n"
     "\"quarry\", may become, one a line"},
    {NULL, 0, NULL, NULL},
};

static void completion_print_offers(const struct completion *c)
{
    const char *p = c->offers.data;

    for (size_t i = 0; i < c->offer_count; i++, p += strlen(p) + 1)
        puts(p);
}

static int completion_of_line(struct cli *cli, const char *line)
{
    struct completion c;
    struct buf insert = BUF_INIT;

    cli->reach_us = REACH_US;
    completion_init(&c);
    if (completion_find(&c, cli, slice_str(line), &insert))
        completion_print_offers(&c);
    completion_close(&c);
    buf_close(&insert);
    return ERR_OK;
}

static int
run_completion(struct cli *cli, const struct args *args, struct err *err)
{
    const char *line = args_value(args, "line");

    if (line && args->word_count == 0)
        return completion_of_line(cli, line);
    if (args->word_count == 0)
        return usage_error(args, err, "of which shell: bash, zsh or fish?");
    if (line)
        return usage_error(args, err, "--line stands alone");
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        if (strcmp(scripts[i].shell, args->words[0]) == 0) {
            fputs(scripts[i].script, stdout);
            return ERR_OK;
        }
    return usage_error(args, err, "'%s' is none of bash, zsh, fish",
                       args->words[0]);
}

const struct command completion_commands[] = {
    {.name = "completion",
     .arguments = "SHELL",
     .summary = "Print a script that completes commands in a shell",
     .details =
         "Tab then offers commands, options, files, and the tables and "
         "families\nof the store. Packages install the scripts; by hand:\n\n"
         "  bash  source <(quarry completion bash)\n"
         "  zsh   source <(quarry completion zsh)\n"
         "  fish  quarry completion fish | source",
     .examples = "quarry completion bash "
                 ">/etc/bash_completion.d/quarry\n"
                 "quarry completion --line 'table cr'",
     .words_max = 1,
     .options = {completion_options},
     .run = run_completion},
    {.name = NULL},
};
