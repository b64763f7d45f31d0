"""Every command of the tutorial works, in its order, as it is written."""

import os
import subprocess

import harness
from harness import CliTest, main


class Tutorial(CliTest):
    def test_all_commands(self):
        with open(os.path.join(harness.ROOT, "docs/tutorial.md"),
                  encoding="utf-8") as f:
            lines = f.read().split("\n")
        inside = False
        count = 0
        env = dict(self.env, PATH="%s:%s" % (os.path.dirname(harness.QUARRY),
                                            os.environ["PATH"]))
        for number, line in enumerate(lines, 1):
            if line.startswith("```"):
                inside = line == "```sh"
                continue
            if not inside or not line.strip():
                continue
            done = subprocess.run(["bash", "-c", line], cwd=self.dir, env=env,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, "tutorial.md:%d: %s\n%s" % (
                number, line, done.stdout.decode()))
            count += 1
        self.assertGreater(count, 35)


if __name__ == "__main__":
    main()
