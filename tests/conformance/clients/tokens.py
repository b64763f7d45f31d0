"""A server of access tokens, as the one that exchanges the keys of service
accounts for them: gives each caller the same. `tokens.py FILE` writes its port.
"""

import http.server
import json
import sys

TOKEN = json.dumps({"access_token": "suite", "token_type": "Bearer",
                    "expires_in": 3600}).encode()


class Tokens(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(TOKEN)))
        self.end_headers()
        self.wfile.write(TOKEN)

    def log_message(self, *_args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Tokens)
with open(sys.argv[1], "w", encoding="ascii") as f:
    f.write(str(server.server_port))
server.serve_forever()
