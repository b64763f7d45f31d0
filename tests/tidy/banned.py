"""Calls that have a better way here: named with that way, and with the files
where they are at home; and ends of pipes that fail a script at random."""

import re

import tree

# Names, where they may be called (prefixes of paths), what to use instead.
BANNED = [
    ("strcpy strcat stpcpy sprintf vsprintf gets strtok strncpy", [],
     "struct buf, or snprintf"),
    ("atoi atol atof", [], "text_parse_* of base/core/text.h"),
    ("system popen tmpnam tempnam mktemp", [], "nothing: find another way"),
    ("alloca setjmp longjmp", [], "nothing: find another way"),
    ("rand srand random srandom drand48", [], "base/core/rand.h"),
    ("assert", [], "PRE, POST, INVARIANT, ASSERT_SLOW"),
    ("malloc calloc realloc reallocarray strdup strndup",
     # The process is Python's: it raises MemoryError.
     ["base/core/panic.c", "bindings/python/"], "mem_alloc and its family"),
    # crc32c asks the processor once what it can; OpenSSL's contexts are a
    # thread's, and freed when it ends.
    (r"pthread_\w+", ["base/runtime/", "base/core/crc32c.c",
                      "base/crypt/aead.c"],
     "base/runtime/sync.h and tasks"),
    ("thrd_create mtx_lock cnd_wait", [], "base/runtime/sync.h and tasks"),
    ("open openat fopen freopen creat pread pwrite preadv pwritev",
     ["base/runtime/world_", "base/runtime/log.c",
      "base/runtime/audit.c", "cli/",
      "mapreduce/attempt/zygote.c", "mapreduce/sandbox/process_tree.c",
      # In another program's DuckDB no world is there before a store is open.
      "bigtable/sql/sql_target.c",
      # Pipes and standard input, which a world does not have.
      "mapreduce/lines/line_stream.c",
      # Files of /proc and /sys, and the files of a cage.
      "mapreduce/sandbox/cage", "mapreduce/sandbox/landlock.c"],
     "files of base/runtime/world.h"),
    ("opendir scandir rename unlink mkdir rmdir ftw nftw",
     ["base/runtime/world_", "cli/", "mapreduce/sandbox/cage_mounts.c"],
     "world.h or fs.h"),
    ("clock_gettime gettimeofday time clock", ["base/runtime/"],
     "world_now_us, world_mono_ns"),
    ("sleep usleep nanosleep", ["base/runtime/"], "world_sleep_us"),
    ("fork vfork execv execve execvp execl execlp posix_spawn",
     ["mapreduce/attempt/", "mapreduce/sandbox/", "mapreduce/engines/",
      "cli/cluster", "cli/cmd_cluster.c", "cli/server_restart.c",
      "cli/supervisor.c",
      # The administrator's command that prints the master key.
      "base/crypt/master_command.c",
      "cli/pager.c"],
     "task attempts"),
    ("printf puts putchar vprintf perror", ["cli/"],
     "an error to the caller, or a struct buf"),
    ("exit _exit abort quick_exit",
     ["cli/", "base/core/panic.c", "mapreduce/attempt/", "mapreduce/sandbox/",
      "mapreduce/engines/command_engine.c"],
     "an error to the caller, or PANIC"),
    # $TMPDIR is where work files go that no store has a place for.
    ("getenv setenv putenv", ["cli/", "sawzall-lite/builtins/",
                              "mapreduce/master/",
                              # Programs of others are clients, too.
                              "chubby-lite/lock_service.c"],
     "an option of the caller"),
    ("setlocale", ["cli/main.c"], "nothing: locales are the command line's"),
    ("signal sigaction", ["cli/", "mapreduce/attempt/", "mapreduce/sandbox/",
                          "mapreduce/engines/", "base/runtime/"],
     "the command line's or the worker's handlers"),
    # Attempts are processes and talk to who started them.
    ("socket socketpair", ["base/runtime/", "mapreduce/attempt/",
                           "mapreduce/sandbox/", "cli/cluster", "cli/cmd_cluster.c",
                           "cli/supervisor.c"], "world.h"),
]

# Tests and examples are not the product.
FREE = ("tests/", "examples/")

# A reader that leaves early: SIGPIPE ends the writer, and pipefail the script,
# when the writer happens to be the slower one.
LEAVES_EARLY = re.compile(r"(?<!\|)\|\s*(head\b|grep -\w*[qm])")


def find_early_leavers(found):
    for path in tree.files(".sh", ".ci/run") + [
            path for path in tree.files("") if path.startswith("scripts/")]:
        text = tree.read(path)
        if "pipefail" not in text and "lib.sh" not in text:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = LEAVES_EARLY.search(line)
            if match:
                found.add(path, number, "%s ends before its writer: use sed -n "
                          "1,Np, or grep >/dev/null" % match.group(1))


def main():
    found = tree.Findings()
    find_early_leavers(found)
    rules = [(re.compile(r"(?<![\w.>])(%s)\s*\(" % names.replace(" ", "|")),
              homes, instead) for names, homes, instead in BANNED]
    any_rule = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(
        names.replace(" ", "|") for names, _, _ in BANNED))
    for path in tree.sources(".c", ".h"):
        if path.startswith(FREE):
            continue
        code = tree.code_of(tree.read(path))
        if not any_rule.search(code):
            continue
        for rule, homes, instead in rules:
            if any(path.startswith(h) for h in homes):
                continue
            for match in rule.finditer(code):
                found.add(path, code.count("\n", 0, match.start()) + 1,
                          "%s(): use %s" % (match.group(1), instead))
    found.finish()


main()
