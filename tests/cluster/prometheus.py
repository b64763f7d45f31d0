"""A real Prometheus with the alert rules of contrib/prometheus, which scrapes processes of tests."""

import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from processes import SECONDS

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONTRIB = os.path.join(SOURCE, "contrib", "prometheus")


def need(test, program):
    if not shutil.which(program):
        test.skip("%s is not installed (scripts/deps test)" % program)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(test, targets):
    """Scrape @targets each second until the test ends. Returns a function that queries its API,
    and answers None while it does not."""
    port = free_port()
    os.makedirs(test.path("prom"))
    test.write("prom/prometheus.yml", """
global: {scrape_interval: 1s, evaluation_interval: 1s, scrape_timeout: 1s}
rule_files: ["%s/quarry.rules.yml"]
scrape_configs:
  - job_name: quarry
    static_configs: [{targets: %s}]
""" % (CONTRIB, json.dumps(targets)))
    log = open(test.path("prom/log"), "w")
    test.addCleanup(log.close)
    process = subprocess.Popen(
        ["prometheus", "--config.file=" + test.path("prom/prometheus.yml"),
         "--storage.tsdb.path=" + test.path("prom/data"),
         "--web.listen-address=127.0.0.1:%d" % port], stdout=log, stderr=log)
    test.addCleanup(process.wait)
    test.addCleanup(process.kill)

    def ask(path, **query):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/%s?%s" % (
                    port, path, urllib.parse.urlencode(query)), timeout=SECONDS) as r:
                return json.load(r)["data"]
        except (ConnectionError, urllib.error.URLError):
            return None
    return ask
