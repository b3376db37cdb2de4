"""A service manager of a few lines: holds a listening socket, passes it to a program (sd_listen_fds(3)), and restarts that on SIGUSR1.

usage: service_manager.py PID_FILE LOG PROGRAM ARGUMENT...
Prints the port. SIGTERM ends the program, and then this one.
"""

import os
import signal
import socket
import subprocess
import sys

pid_file, log, *command = sys.argv[1:]
listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
signals = {signal.SIGUSR1, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)


def start():
    # The variable has to name the process itself, which only a shell that becomes it knows beforehand.
    shell = ["sh", "-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"', *command]
    with open(log, "a") as errors:
        return subprocess.Popen(
            shell, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=(3,),
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, signals))


program = start()
with open(pid_file, "w") as file:
    file.write(str(os.getpid()))
print(listener.getsockname()[1], flush=True)
while True:
    received = signal.sigwait(signals)
    program.terminate()
    program.wait()
    if received == signal.SIGTERM:
        sys.exit(0)
    program = start()
