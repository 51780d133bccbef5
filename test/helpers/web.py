"""web.py PORTFILE ELSEWHERE: a web server on 127.0.0.2 that is no proxy. /here is "here", everything else of its own is elsewhere; each request is a line."""
import http.server
import os
import sys


class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.command, self.path, flush=True)
        if self.path.endswith("/here"):
            status, body = 200, b"here"
        else:
            status, body = (302 if self.path.startswith("/") else 404), b""
        self.send_response(status)
        if status == 302:
            self.send_header("Location", sys.argv[2])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        print(self.command, self.path, flush=True)
        self.send_error(501)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.2", 0), Web)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
