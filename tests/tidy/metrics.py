"""The table of metrics in docs/metrics.md is that of metric_list.def, and alert rules and
dashboard name metrics that exist: scripts/metrics-table --check."""

import os
import subprocess
import sys

import tree

sys.exit(subprocess.run([sys.executable, os.path.join(tree.ROOT, "scripts/metrics-table"),
                         "--check"], check=False).returncode)
