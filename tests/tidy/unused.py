"""Unused code fails the test: functions, objects and macros that cannot be
reached from the product's entry points, and headers that no product source
includes. Tests alone do not keep product code.

The tree is read as text: each definition at the first column is a name that
leads to the names in it. Equal names of several files count as one, so what is
found is unused for certain, and what shares its name may be missed.

A macro that pastes names (embedded_##name) leads to the names that the lists of
the tree give it: its calls in the same file and in a .def that is included
there, and the rows of each list of which it is the argument. Where arguments are
not plain names, it leads to every name with its prefix. One that names an
argument as it is leads to the names that it is given in the same way."""

import fnmatch
import re

import tree

# Names that stay although the product does not reach them, and why.
ALLOWED = {
    "DUCKDB_EXTENSION_*": "is for duckdb_extension.h",
    "quarry_init_c_api": "is called by DuckDB's LOAD",
    "_*_SOURCE": "asks the C library's headers for more",
    "PY_SSIZE_T_CLEAN": "is for Python.h",
    "Py_LIMITED_API": "is for Python.h",
    "XXH_INLINE_ALL": "is for xxhash.h",
    "ZDICT_STATIC_LINKING_ONLY": "is for zdict.h",
    "ZLIB_CONST": "is for zlib.h",
    "THREADED": "is for zookeeper.h",
    "OP_OF_CLUSTER": "is used by bigtable/client/target_ops.def",
    "word_breaks_plain": "is the slow way that the quick one is tested against",
    "cdx_line": "is a line of an index of archives",
    "fault_*": "tests and quarry-sim arm the points where the product may fail",
    "names_check": "checks all invariants of the namenode's names",
    "raft_contradictions": "checks that no two leaders had one term",
    "follower_*": "is for the kinds of followers",
    "cell_key_append": "makes a whole key, the product only parts of one",
    "cell_key_append_column": "makes a whole key, the product only parts",
    "keyring_new_ephemeral": "makes a keyring that no file keeps",
    "master_keys_of": "makes a master key that no file or command gives",
    "chubby_release": "is in the lock service's public header",
    "gfs_record_append": "is in the file system's public header",
    # Where a server listens, and what tests see of the inside of one.
    "rpc_listener_address": "says which port the system chose",
    "rpc_connect": "waits until a connection stands",
    "rpc_channel_is_up": "shows a connection",
    "audit_dropped": "shows what did not fit",
    "chunk_pool_out": "shows memory that did not come back",
    "gfs_get_client_stats": "shows what went which way",
    "grpc_server_buffered_bytes": "shows memory that did not come back",
    "http_guests_count": "shows connections",
    "namenode_is_leader": "shows who leads",
    "saw_table_key_count": "shows what a table keeps",
    "saw_table_wants_origin": "shows what a table asks for",
    "segment_cache_bytes": "shows memory that did not come back",
    "shared_log_get_stats": "shows how writes were grouped",
}

# Headers that are installed: for others' programs.
INSTALLED = ("base/core/buf.h", "base/core/err.h", "base/core/slice.h",
             "bigtable/client/bulk_load.h", "bigtable/quarry.h",
             "bigtable/quarry_access.h", "bigtable/quarry_observer.h", "bigtable/row/alteration.h",
             "bigtable/row/cells.h", "bigtable/row/quota.h",
             "bigtable/row/row_request.h", "bigtable/row/explain_counts.h", "mapreduce/mapreduce.h")

# The simulator takes the place of the world: tests enter it anywhere.
SIMULATOR = ("base/sim/sim", "base/sim/world_sim")

PREPROCESSOR = re.compile(r"^[ \t]*#((?:[^\n]*\\\n)*[^\n]*)", re.M)
MACRO = re.compile(r"\s*define (\w+)(.*)", re.S)
NAME = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
CALL = re.compile(r"^[ \t]*([A-Z][A-Z0-9_]+)\(", re.M)
PASTE = re.compile(r"\w+(?:\s*##\s*\w+)+")
INVOCATION = re.compile(r"\b([A-Za-z_]\w*)\(")
LIST_OF = re.compile(r"\b([A-Z][A-Z0-9_]*)\(\s*([A-Z][A-Z0-9_]*)\s*\)")
DEF = re.compile(r'^\s*#\s*include "([^"]+\.def)"', re.M)
OBJECT = re.compile(r"(\w+)(?:\[[^=;]*\])?\s*(?:=|;|$)")
STRUCT_OBJECT = re.compile(r"^} (\w+)", re.M)
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def without_comments(text):
    """@text with comments and strings emptied; line numbers stay."""
    def empty(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] * 2
        # A comment inside of a macro does not end the macro.
        return " " + "".join("\\\n" if line.endswith("\\") else "\n"
                             for line in token.split("\n")[:-1])
    return tree.TOKEN.sub(empty, text)


def statements(text):
    """(offset, head, body) of everything at the top level: what is before the
    first brace, and what is between it and its end."""
    begin = depth = 0
    brace = None
    for match in re.finditer(r"[{};]", text):
        what = match.group(0)
        if what == "{":
            if depth == 0 and brace is None:
                brace = match.start()
            depth += 1
            continue
        if what == "}":
            depth -= 1
            if depth or not is_function(text[begin:brace]):
                continue
        elif depth:
            continue
        end = match.end()
        yield (begin, text[begin:brace if brace is not None else end],
               text[brace:end] if brace is not None else "")
        begin, brace = end, None


def arguments(text, at):
    """The arguments of the call whose parenthesis opens before @at."""
    depth, begin, out = 0, at, []
    for i in range(at, len(text)):
        c = text[i]
        if c == ")" and depth == 0:
            return [a.strip() for a in out + [text[begin:i]]]
        if c == "," and depth == 0:
            out.append(text[begin:i])
            begin = i + 1
        depth += {"(": 1, ")": -1}.get(c, 0)
    return []


class Lists:
    """The macros of the tree that are lists of calls, and the calls of others."""

    def __init__(self):
        self.bodies = {}   # List -> [(its parameter, its body)].
        self.passed = {}   # (Path, macro) -> lists that it is given to there.
        self.text = {}     # Path -> its text, with that of its .def files.
        self.aliases = {}  # Path -> {name: the macro that it stands for}.

    def read(self, path, text):
        code = without_comments(text)
        for match in LIST_OF.finditer(code):
            for where in (path, "anywhere"):
                self.passed.setdefault((where, match.group(2)),
                                       set()).add(match.group(1))
        aliases = self.aliases.setdefault(path, {})
        for match in PREPROCESSOR.finditer(code):
            macro = MACRO.match(match.group(1))
            if not macro:
                continue
            one = re.match(r"\(\s*(\w+)\s*\)(.*)", macro.group(2), re.S)
            other = re.match(r"\s+(\w+)\s*$", macro.group(2))
            if one:
                self.bodies.setdefault(macro.group(1), []).append(one.groups())
            elif other:
                aliases[macro.group(1)] = other.group(1)
        for included in DEF.findall(text):
            code += "\n" + without_comments(tree.read(included))
        self.text[path] = PREPROCESSOR.sub("", code)

    def calls_in(self, text, names):
        return [arguments(text, m.end()) for m in INVOCATION.finditer(text)
                if m.group(1) in names]

    def rows(self, name, seen=()):
        """Arguments of the calls that list @name makes of its parameter."""
        out = []
        for parameter, body in self.bodies.get(name, ()):
            out += self.calls_in(body, {parameter})
            for inner, given in LIST_OF.findall(body):
                if given == parameter and inner not in seen:
                    out += self.rows(inner, seen + (name,))
        return out

    def of_macro(self, path, name):
        """The arguments of each use of macro @name, defined in @path; None when
        they cannot be known."""
        names = {name} | {alias for alias, of in self.aliases[path].items()
                          if of == name}
        out = self.calls_in(self.text[path], names)
        for given in self.passed.get((path, name), ()):
            out += self.rows(given)
        if not out and path.endswith(".h"):
            for given in self.passed.get(("anywhere", name), ()):
                out += self.rows(given)
        return out or None


def is_function(head):
    return head.rstrip().endswith(")") and "=" not in head


def function_name(head):
    """The identifier before the parentheses that end @head."""
    depth = 0
    for at in range(len(head.rstrip()) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(head[at], 0)
        if depth == 0:
            break
    match = re.search(r"(\w+)\s*$", head[:at])
    return match.group(1) if match else None


class Graph:
    def __init__(self):
        self.lists = Lists()
        self.leads = {}   # Name -> the names its definitions have in them.
        self.where = {}   # Name -> (path, line).
        self.roots = {"main", "PyInit__quarry"}
        self.included = set()

    def define(self, name, path, line, text):
        self.where.setdefault(name, (path, line))
        self.leads.setdefault(name, set()).update(NAME.findall(text))
        if path.startswith(SIMULATOR) or path in INSTALLED:
            self.roots.add(name)

    def take_macro(self, path, line, text):
        macro = MACRO.match(text)
        if not macro:
            self.roots.update(NAME.findall(text))
            return
        name, body = macro.groups()
        if name.endswith("_H"):
            self.roots.add(name)
        self.define(name, path, line, body)
        self.leads[name].update(self.pasted(path, name, body))

    def pasted(self, path, name, body):
        """The names that macro @name makes by pasting: exact, or PREFIX*."""
        out = set()
        parameters = []
        if body.startswith("("):
            parameters = re.findall(r"\w+", body[:body.find(")") + 1])
        uses = self.lists.of_macro(path, name)
        for match in PASTE.finditer(body):
            parts = re.split(r"\s*##\s*", match.group(0))
            made = {self.paste(parts, parameters, use) for use in uses or [()]}
            if None in made and parts[0] not in parameters:
                made.add(parts[0] + "*")
            out |= made - {None}
        for use in uses or ():
            out.update(given for parameter, given in zip(parameters, use)
                       if re.fullmatch(r"[a-z_]\w*", given) and
                       re.search(r"(?<![\w#])%s\b" % parameter, body))
        return out

    @staticmethod
    def paste(parts, parameters, use):
        """@parts with the arguments of one use; None if one is no plain name."""
        name = ""
        for part in parts:
            if part in parameters:
                at = parameters.index(part)
                part = use[at] if at < len(use) else "?"
            name += part
        return name if re.fullmatch(r"\w+", name) else None

    def take_statement(self, path, line, head, body):
        self.roots.update(CALL.findall(head))
        if CALL.match(head.lstrip()) and not body:  # Which may define with its arguments.
            self.roots.update(NAME.findall(head))
        elif re.match(r"\s*(struct|union) \w+;", head):
            pass  # Declared for what follows.
        elif re.match(r"\s*typedef\b(?! enum)", head):
            self.roots.update(CONSTANT.findall(head + body))
        elif not body and ("(" in head or "extern" in head) and "=" not in head:
            if "QUARRY_EXPORT" in head:
                self.roots.update(NAME.findall(head))
            else:  # A prototype, or a macro's call.
                self.roots.update(CONSTANT.findall(head))
        elif body and is_function(head):
            self.define(function_name(head), path, line, body)
            self.roots.update(CONSTANT.findall(head))
        elif re.match(r"\s*(typedef )?enum\b[^=(]*$", head):
            # Enumerators have numbers, from outside too: all count as used.
            self.roots.update(NAME.findall(body))
        elif body and re.match(
                r"\s*((static|const) )*(struct|union)\b[^=(]*$", head):
            self.roots.update(CONSTANT.findall(body))
            declared = STRUCT_OBJECT.search(body)
            if declared:  # struct x {…} name = {…};
                self.define(declared.group(1), path, line, body)
        else:
            declared = OBJECT.search(head)
            if declared:
                self.define(declared.group(1), path, line, head + body)

    def read(self, path):
        text = tree.read(path)
        self.included.update(INCLUDE.findall(text))
        text = without_comments(text)
        if path.endswith(".cc"):  # Another layout; all of it counts as used.
            self.roots.update(NAME.findall(text))
        for match in PREPROCESSOR.finditer(text):
            self.take_macro(path, text.count("\n", 0, match.start()) + 1,
                            match.group(1))
        text = PREPROCESSOR.sub(lambda m: "\n" * m.group(0).count("\n"), text)
        text = text.replace('extern "" {', "") + ";"
        if path.endswith(".cc"):
            return
        line = at = 0
        for begin, head, body in statements(text):
            begin += len(head) - len(head.lstrip())
            line += text.count("\n", at, begin)
            at = begin
            self.take_statement(path, line + 1, head, body)

    def unreached(self):
        names = sorted(self.leads)
        seen = set()
        todo = list(self.roots)
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if name.endswith("*"):
                todo += [n for n in names if n.startswith(name[:-1])]
            todo += self.leads.get(name, ())
        return [n for n in names if n not in seen]


def main():
    found = tree.Findings()
    graph = Graph()
    product = [path for path in tree.sources(".c", ".h", ".cc")
               if not path.startswith(("tests/", "examples/"))]
    for path in product:
        graph.lists.read(path, tree.read(path))
    for path in product:
        graph.read(path)
    unreached = graph.unreached()
    for pattern in ALLOWED:
        names = fnmatch.filter(unreached, pattern)
        graph.roots.update(names)
        if not names:
            found.add("tests/tidy/unused.py", 1, pattern + ": allowed in vain")
    for name in graph.unreached():
        found.add(*graph.where[name], name + " is not used by the product")
    for path in product:
        if path.endswith(".h") and path not in graph.included:
            found.add(path, 1, "no product source includes it")
    found.finish()


if __name__ == "__main__":
    main()
