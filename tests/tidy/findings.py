"""The table of findings in docs/doctor.md is that of finding_rules.def, and remedies name
commands, sections and pages that exist: scripts/findings-table --check."""

import os
import subprocess
import sys

import tree

sys.exit(subprocess.run([sys.executable, os.path.join(tree.ROOT, "scripts/findings-table"),
                         "--check"], check=False).returncode)
