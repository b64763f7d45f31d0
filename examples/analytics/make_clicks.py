#!/usr/bin/env python3
"""Sessions of visitors to some sites, a line each: `make_clicks.py DAY SESSIONS`
prints CSV for one day (a number from 1), the same every time.

The row is the site and the time at which the session began, so that the
sessions of a site lie together and in order of time."""

import random
import sys
import time

SITES = ["com.example.news", "com.example.shop", "edu.example.library",
         "org.example.forum", "org.example.wiki"]
DAY_S = 86400
BEGIN = 1714521600  # 2024-05-01


def main():
    day, sessions = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(day)
    print("row,time,begin,clicks,seconds,country")
    for i in range(sessions):
        site = SITES[min(r.randrange(5), r.randrange(5))]
        begin = BEGIN + (day - 1) * DAY_S + r.randrange(DAY_S)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(begin))
        clicks = 1 + int(r.random() ** 3 * 40)
        print("%s#%s-%04d,%d,%s,%d,%d,%s" % (
            site, stamp, i, begin * 1000000, stamp, clicks, clicks * r.randrange(5, 60),
            r.choice(["de", "fr", "jp", "us", "us"])))


main()
