#!/usr/bin/env python3
"""A tile as a picture of letters: `show.py` reads sixteen of them."""

import sys

text = sys.stdin.read().strip()
for i in range(0, len(text), 4):
    print("  " + " ".join(text[i:i + 4]))
