"""What the scheduler may do to a process, done on purpose: stops, few processors, low priority, and others that want them."""

import os
import signal
import subprocess
import sys
import threading

# A program that never waits for anything; it ends with the one that started it, however that ends.
HOG = [sys.executable, "-c", "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"]


class Tormentor(threading.Thread):
    """Torments one process until stopped; ends only what it has started."""

    def __init__(self, pid, random, hogs=2):
        super().__init__(daemon=True)
        self.pid, self.random = pid, random
        self.processors = sorted(os.sched_getaffinity(0))
        self.over = threading.Event()
        self.done = {"stops": 0, "pins": 0, "threads starved": 0}
        self.stopped = 0.0
        # Held while something is done to the process: the holder sees it undisturbed.
        self.turn = threading.Lock()
        self.hogs = [subprocess.Popen(HOG, stdin=subprocess.DEVNULL) for _ in range(hogs)]
        self.are_hogs_stopped = False

    def run(self):
        while not self.over.wait(self.random.uniform(0.02, 0.6)):
            with self.turn:
                self.random.choice([self.stop, self.stop, self.pin, self.starve_a_thread, self.starve_a_thread, self.hog])()

    def end(self):
        self.over.set()
        self.join()
        self.release()
        for hog in self.hogs:
            hog.kill()
            hog.wait()

    def release(self):
        """Lets the process, and the machine, alone."""
        self._signal(signal.SIGCONT)
        self._pin(self.processors)
        for task in self._tasks():
            self._priority(task, 0)
        self.hog(stop=True)

    def stop(self):
        """Stops it for 1 to 3000 ms; short stops are more frequent."""
        seconds = 0.001 * 3000 ** self.random.random()
        self._signal(signal.SIGSTOP)
        self.over.wait(seconds)
        self._signal(signal.SIGCONT)
        self.done["stops"] += 1
        self.stopped += seconds

    def pin(self):
        self._pin(self.random.choice([self.processors, [self.random.choice(self.processors)]]))
        self.done["pins"] += 1

    def starve_a_thread(self):
        """One of its threads has the processor only when nothing else wants it: what others wait for it for comes late."""
        tasks = self._tasks()
        victims = self.random.sample(tasks, min(len(tasks), self.random.choice([1, 1, 2, 5])))
        for task in victims:
            self._priority(task, 19)
        self.over.wait(self.random.uniform(0.01, 0.5))
        for task in victims:
            self._priority(task, 0)
        self.done["threads starved"] += len(victims)

    def hog(self, stop=None):
        self.are_hogs_stopped = self.random.random() < 0.3 if stop is None else stop
        for hog in self.hogs:
            hog.send_signal(signal.SIGSTOP if self.are_hogs_stopped else signal.SIGCONT)

    # The process may have ended, and so may each of its threads.

    def _tasks(self):
        try:
            return [int(name) for name in os.listdir(f"/proc/{self.pid}/task")]
        except OSError:
            return []

    def _signal(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def _pin(self, processors):
        for task in self._tasks():
            try:
                os.sched_setaffinity(task, processors)
            except OSError:
                pass

    def _priority(self, task, nice):
        try:
            os.sched_setscheduler(task, os.SCHED_IDLE if nice else os.SCHED_OTHER, os.sched_param(0))
        except OSError:
            pass
