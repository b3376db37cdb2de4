"""LocalDaemon: processes that share one, and are killed."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import support
from support import PROGRAM, ROOT, SEVEN

from ocelli import LocalDaemon

USER = """
import sys
import support
from ocelli import LocalDaemon
with LocalDaemon(models=sys.argv[1], ocelli=support.PROGRAM, top=3) as daemon, daemon.client() as client:
    print(daemon.pid, client.classify(support.SEVEN).classifications[0].label, flush=True)
    sys.stdin.read()
"""


def eventually(what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def is_there(pid):
    """Whether the process runs. One that has ended and is not reaped yet (process 1 may never do it) does not."""
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


class LocalDaemonTests(unittest.TestCase):
    def setUp(self):
        # A folder of its own, so that no other test shares the daemon.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.models = pathlib.Path(folder.name, "models")
        self.models.symlink_to(ROOT / "models")
        self.copy = pathlib.Path(folder.name, "copy")
        subprocess.run(["cp", "-r", str(ROOT / "models"), str(self.copy)], check=True)

    def user(self):
        process = subprocess.Popen(
            [sys.executable, "-c", USER, str(self.copy)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=pathlib.Path(__file__).parent)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_all_that_name_the_same_folder_and_settings_share_one_which_ends_after_the_last_was_killed(self):
        users = [self.user() for _ in range(3)]
        said = [user.stdout.readline().split() for user in users]
        self.assertEqual({label for _, label in said}, {"7"})
        pids = {int(pid) for pid, _ in said}
        self.assertEqual(len(pids), 1)
        pid = pids.pop()
        users[0].kill()
        users[1].stdin.close()
        users[0].wait(), users[1].wait()
        with LocalDaemon(models=self.copy, ocelli=PROGRAM, top=4) as other:
            self.assertNotEqual(other.pid, pid, "other settings")
        with LocalDaemon(models=os.path.join(self.copy, "..", "copy"), ocelli=PROGRAM, top=3) as same:
            self.assertEqual(same.pid, pid, "another path of the same folder")
        self.assertTrue(is_there(pid))
        users[2].kill()
        users[2].wait()
        # Fifteen seconds are promised; a busy machine is given more.
        self.assertTrue(eventually(lambda: not is_there(pid), 120))

    def test_a_daemon_or_keeper_that_was_killed_is_started_again_during_calls(self):
        with LocalDaemon(models=self.copy, ocelli=PROGRAM, top=3) as daemon, daemon.client() as client:
            for who in ("daemon", "keeper", "both"):
                before = daemon.pid
                keeper = int(next(
                    line.split()[1] for line in pathlib.Path(f"/proc/{before}/status").read_text().splitlines()
                    if line.startswith("PPid:")))
                if who != "daemon":
                    os.kill(keeper, signal.SIGKILL)
                if who != "keeper":
                    os.kill(before, signal.SIGKILL)
                # A daemon whose keeper was killed may still answer this one; the next is for the new daemon.
                self.assertEqual(client.classify(SEVEN).classifications[0].label, "7", who)
                self.assertTrue(eventually(lambda: not is_there(before)), who)
                self.assertEqual(client.classify(SEVEN).classifications[0].label, "7", who)
                self.assertTrue(eventually(lambda: daemon.pid not in (None, before)), who)

    def test_threads_are_the_daemon_s_share_of_the_machine(self):
        """Each model works on as many pictures at once as there are threads, and one more is read meanwhile."""
        import re

        from ocelli._pool import Deadline, Pool
        from ocelli._wire import Address, Request

        for threads in (1, 2):
            with LocalDaemon(models=self.copy, ocelli=PROGRAM, threads=threads) as daemon:
                pool = Pool(Address.parse(daemon.url), None, 1)
                page = pool.exchange(Request("GET", "/metrics"), Deadline(20)).body.decode()
                pool.close()
                self.assertEqual(re.search(r"^ocelli_in_flight_limit\{.*\} (\d+)$", page, re.M)[1], str(threads + 1))

    def test_a_folder_of_others_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            open_folder = os.path.join(folder, "open")
            os.mkdir(open_folder)
            os.chmod(open_folder, 0o755)
            link = os.path.join(folder, "link")
            private = os.path.join(folder, "private")
            os.mkdir(private, 0o700)
            os.symlink(private, link)
            for wrong in (open_folder, link):
                with self.assertRaises(PermissionError, msg=wrong):
                    LocalDaemon(models=self.copy, ocelli=PROGRAM, socket=os.path.join(wrong, "s"))
            with LocalDaemon(models=self.copy, ocelli=PROGRAM, socket=os.path.join(private, "s")) as daemon:
                self.assertEqual(os.stat(os.path.dirname(daemon.url[len("unix://"):])).st_mode & 0o777, 0o700)
                self.assertEqual(os.path.realpath(os.path.join(private, "s")), daemon.url[len("unix://"):])
                with self.assertRaises(ValueError):
                    LocalDaemon(models=self.copy, ocelli=PROGRAM, socket=os.path.join(private, "s"), top=2)

    def test_what_keeps_it_from_starting_is_said(self):
        with self.assertRaisesRegex(FileNotFoundError, "no program"):
            LocalDaemon(models=self.copy, ocelli="/there/is/no/ocelli")
        with self.assertRaisesRegex(FileNotFoundError, "/there/is/no"):
            LocalDaemon(models="/there/is/no", ocelli=PROGRAM)
        with self.assertRaisesRegex(RuntimeError, "thredas"):
            LocalDaemon(models=self.copy, ocelli=PROGRAM, thredas=3)
        with self.assertRaises(ValueError):
            LocalDaemon(models=self.copy, ocelli=PROGRAM, listen=":80")
        environment = {"PATH": "/there/is/none", "HOME": "/tmp"}
        run = subprocess.run(
            [sys.executable, "-c", "import support; from ocelli import LocalDaemon; LocalDaemon()"], capture_output=True, text=True,
            env=environment, cwd=pathlib.Path(__file__).parent)
        self.assertRegex(run.stderr, "FileNotFoundError.*install")


if __name__ == "__main__":
    unittest.main()
