"""A headless Chromium, driven through chromedriver's HTTP protocol (WebDriver).

    with Browser(directory) as b:            # None of it: Browser.missing()
        b.open("http://127.0.0.1:7480/")
        b.run("return document.title")
        b.log()                              # what the console of the page says
        b.picture("/tmp/overview.png")

Each has a profile of its own below @directory, so that several run at once.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

SECONDS = 120
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--hide-scrollbars"]
# The name of an element in answers, from the standard.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
TAB = "\ue004"


def missing():
    """Why there is no browser here, or None."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return ("there is no %s here (Debian: chromium, chromium-driver)" %
                    program)
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, directory, flags=()):
        self.directory = directory
        self.flags = list(flags)
        self.url = "http://127.0.0.1:%d" % free_port()
        self.driver = None
        self.session = None

    def __enter__(self):
        os.makedirs(self.directory, exist_ok=True)
        environment = dict(os.environ, HOME=self.directory, no_proxy="*")
        with open(os.path.join(self.directory, "driver.log"), "w") as log:
            self.driver = subprocess.Popen(
                ["chromedriver", "--port=" + self.url.rsplit(":", 1)[1]],
                stdout=log, stderr=log, env=environment)
        try:
            self.await_driver()
            self.begin()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def await_driver(self):
        until = time.monotonic() + SECONDS
        while True:
            try:
                if self.call("GET", "/status")["ready"]:
                    return
            except OSError:
                pass
            if time.monotonic() > until or self.driver.poll() is not None:
                raise RuntimeError("chromedriver does not answer")
            time.sleep(0.1)

    def begin(self):
        options = {"args": FLAGS + self.flags + ["--user-data-dir=" + os.path.join(
            self.directory, "profile")]}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": SECONDS * 1000,
                         "pageLoad": SECONDS * 1000}}}})
        self.session = "/session/" + answer["sessionId"]

    def end(self):
        if self.session:
            try:
                self.call("DELETE", self.session)
            except (OSError, RuntimeError):
                pass
            self.session = None
        if self.driver:
            self.driver.terminate()
            self.driver.wait()
            self.driver = None

    def call(self, method, path, body=None):
        data = None if body is None and method != "POST" else json.dumps(
            body or {}).encode()
        request = urllib.request.Request(
            self.url + path, data=data, method=method,
            headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=2 * SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            with e:
                told = json.load(e)["value"]
            raise RuntimeError("%s: %s" % (path, told.get("message"))) from e

    def post(self, path, **body):
        return self.call("POST", self.session + path, body)

    # --- pages

    def open(self, url):
        self.post("/url", url=url)

    def run(self, script, *arguments):
        """The value that the body of a function returns."""
        return self.post("/execute/sync", script=script, args=list(arguments))

    def run_async(self, script, *arguments):
        """The argument with which the script calls the last of its own."""
        return self.post("/execute/async", script=script, args=list(arguments))

    def log(self):
        """Lines that the page wrote since the last call, errors among them."""
        return self.post("/se/log", type="browser")

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def size(self, width, height=900):
        """The window's inner size, also below what a window may have."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width,
                      height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        """Prefer "dark" or "light"."""
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name}])

    def without_script(self, off=True):
        self.devtools("Emulation.setScriptExecutionDisabled", value=off)

    def press(self, *keys):
        actions = []
        for key in keys:
            actions += [{"type": "keyDown", "value": key},
                        {"type": "keyUp", "value": key}]
        self.post("/actions", actions=[
            {"type": "key", "id": "keyboard", "actions": actions}])

    def picture(self, path, whole=False):
        """A PNG of the window, or of the whole page."""
        found = self.devtools("Page.captureScreenshot", format="png",
                              captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(found["data"]))
