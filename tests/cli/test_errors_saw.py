"""Messages of the compiler for typical mistakes, word for word.

golden/saw_errors.txt has a program a paragraph, behind `> `, and the messages
behind it. QUARRY_GOLDEN=write renews them: read the difference before it is
committed.
"""

import os

from harness import CliTest, ROOT, main

PATH = os.path.join(ROOT, "tests", "cli", "golden", "saw_errors.txt")


def paragraphs(text):
    """The program and the messages of each paragraph."""
    for paragraph in text.strip("\n").split("\n\n"):
        lines = paragraph.split("\n")
        program = [line[2:] for line in lines if line.startswith("> ")]
        messages = [line for line in lines if not line.startswith("> ")]
        yield "\n".join(program) + "\n", "\n".join(messages)


class Errors(CliTest):
    def messages(self, program):
        self.write("p.szl", program)
        done = self.run_quarry("saw", "check", "p.szl")
        lines = [line.rstrip() for line in done.stderr.decode().splitlines()]
        return "\n".join(line for line in lines
                         if line and not line.startswith("quarry: "))

    def test_mistakes(self):
        with open(PATH) as f:
            kept = list(paragraphs(f.read()))
        self.assertGreater(len(kept), 80)
        renewed = [(p, self.messages(p)) for p, _ in kept]
        if os.environ.get("QUARRY_GOLDEN") == "write":
            with open(PATH, "w") as f:
                f.write("\n\n".join(
                    "".join("> %s\n" % line for line in p.splitlines()) + m
                    for p, m in renewed) + "\n")
        else:
            self.assertEqual(renewed, kept)


if __name__ == "__main__":
    main()
