"""Where the program quarry is: in the package, else on the path."""

import os
import shutil


def find_program() -> str:
    """The path of the program: $QUARRY_PROGRAM, the package's, or that on
    $PATH."""
    told = os.environ.get("QUARRY_PROGRAM")
    if told:
        return told
    mine = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin",
                        "quarry")
    if os.access(mine, os.X_OK):
        return mine
    found = shutil.which("quarry")
    if not found:
        raise FileNotFoundError(
            "the program quarry is neither in the package nor on the path: "
            "set QUARRY_PROGRAM")
    return found
