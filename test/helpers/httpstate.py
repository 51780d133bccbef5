"""httpstate.py PORTFILE DIRECTORY: the server side of Terraform's http backend on 127.0.0.1: GET, POST, DELETE of a state, LOCK and UNLOCK as the backend asks
for by default. DIRECTORY/state and DIRECTORY/lock are what it holds."""
import http.server
import json
import os
import pathlib
import sys

held = pathlib.Path(sys.argv[2])
state, lock = held / "state", held / "lock"


class State(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        self.answer(200, state.read_bytes()) if state.exists() else self.answer(404)

    def do_POST(self):
        state.write_bytes(self.body())
        self.answer(200)

    def do_LOCK(self):
        who = self.body()
        if lock.exists():
            self.answer(423, lock.read_bytes())
        else:
            lock.write_bytes(who)
            self.answer(200)

    def do_UNLOCK(self):
        who = self.body()
        (held / "unlocked").write_bytes(who)
        if who and lock.exists() and json.loads(who)["ID"] != json.loads(lock.read_bytes())["ID"]:
            self.answer(409, lock.read_bytes())
        else:
            lock.unlink(missing_ok=True)
            self.answer(200)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), State)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
