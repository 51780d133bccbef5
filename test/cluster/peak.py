#!/usr/bin/env python3
"""peak.py BUILD: until TERM, the resident memory of all processes whose program lies in BUILD; then, a line each, the most that one process of each program
had, and the most of all together at one moment (looked at every 20 ms)."""
import os
import signal
import sys
import time

build, most, together, ended = os.path.realpath(sys.argv[1]) + '/', {}, (0, 0), []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
while not ended:
    now = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            program = os.readlink('/proc/%s/exe' % pid)
            if not program.startswith(build):
                continue
            status = dict(line.split(':', 1) for line in open('/proc/%s/status' % pid) if ':' in line)
            now.append(int(status['VmRSS'].split()[0]))
            name = os.path.basename(program)
            most[name] = max(most.get(name, 0), int(status['VmHWM'].split()[0]))
        except (OSError, KeyError):
            pass
    together = max(together, (sum(now), len(now)))
    time.sleep(0.02)
for name in sorted(most):
    print('%-20s %6d KiB' % (name, most[name]))
print('%-20s %6d KiB in %d processes' % ('together', *together))
