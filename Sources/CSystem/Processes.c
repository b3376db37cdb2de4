#define _GNU_SOURCE 1
#include "CSystem.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/// Starts a program. Its standard output and error are `output`, or /dev/null if that is negative; its descriptor 3 is `socket`,
/// unless that is negative.
static int spawn(const char *path, char *const arguments[], char *const environment[], int output, int socket) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int problem = posix_spawn_file_actions_init(&actions);
    if (problem == 0) {
        problem = posix_spawnattr_init(&attributes);
        if (problem == 0) {
            // This process blocks signals that it reads from a descriptor: a child would inherit that mask.
            sigset_t none, all;
            sigemptyset(&none);
            sigfillset(&all);
            short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
            if (problem == 0) problem = posix_spawnattr_setsigmask(&attributes, &none);
            if (problem == 0) problem = posix_spawnattr_setsigdefault(&attributes, &all);
            if (problem == 0) problem = posix_spawnattr_setpgroup(&attributes, 0);
            if (problem == 0) problem = posix_spawnattr_setflags(&attributes, flags);
            if (problem == 0)
                problem = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
            // First, before another descriptor gets the number 3. Duplicated to itself, it would stay close-on-exec in older C
            // libraries.
            if (problem == 0 && socket >= 0) problem = posix_spawn_file_actions_adddup2(&actions, socket, 3);
            for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && problem == 0; fd++)
                problem = output < 0 ? posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0)
                                     : posix_spawn_file_actions_adddup2(&actions, output, fd);
            pid_t pid = 0;
            if (problem == 0) problem = posix_spawn(&pid, path, &actions, &attributes, arguments, environment);
            posix_spawnattr_destroy(&attributes);
            if (problem == 0) {
                posix_spawn_file_actions_destroy(&actions);
                return pid;
            }
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    return -problem;
}

int csys_spawn(const char *path, char *const arguments[], char *const environment[], int *output) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    int process = spawn(path, arguments, environment, ends[1], -1);
    close(ends[1]);
    if (process > 0) *output = ends[0];
    else close(ends[0]);
    return process;
}

int csys_spawn_helper(const char *path, char *const arguments[], char *const environment[], int *socket) {
    int ends[2];
    int problem = csys_socket_pair(ends);
    if (problem < 0) return problem;
    int process = spawn(path, arguments, environment, -1, ends[1]);
    close(ends[1]);
    if (process > 0) *socket = ends[0];
    else close(ends[0]);
    return process;
}

int csys_wait_readable(int fd, int milliseconds) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    int count = poll(&entry, 1, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    return count > 0;
}

int csys_wait_child(int pid, int *signal, int *exit_status) {
    int status = 0;
    long result = CSYS_REPEAT(waitpid(pid, &status, 0));
    if (result < 0) return (int)result;
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return 0;
}

int csys_kill_group(int pid) { return pid > 1 && kill(-pid, SIGKILL) < 0 ? -errno : 0; }

struct parent_watch {
    int parent;
    int problem;
    sem_t is_set;
};

static int die_with_parent(int parent) {
    int problem = prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
    // If the parent ended before the line above, no signal would come.
    if (getppid() != parent) _exit(1);
    return problem;
}

/// The kernel ties the request to the thread that makes it, and drops it when that thread ends: this thread does not end.
static void watch_parent(void *argument) {
    struct parent_watch *watch = argument;
    watch->problem = die_with_parent(watch->parent);
    sem_post(&watch->is_set);
    while (true) pause();
}

/// Ends this process when its parent ends, even after the calling thread has ended.
static int follow_parent(int parent) {
    struct parent_watch watch = {.parent = parent};
    if (sem_init(&watch.is_set, 0, 0) < 0) return die_with_parent(parent);
    if (csys_thread_start("parent", watch_parent, &watch) < 0) {
        sem_destroy(&watch.is_set);
        // No thread could be started: valid for the lifetime of the calling thread.
        return die_with_parent(parent);
    }
    while (sem_wait(&watch.is_set) < 0 && errno == EINTR) {}
    sem_destroy(&watch.is_set);
    return watch.problem;
}

int csys_confine(int parent, unsigned seconds, uint64_t memory) {
    int problem = follow_parent(parent);
    // Ends the process at the latest then. The parent may have left the signal blocked.
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    int blocked = pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    if (blocked != 0) problem = -blocked;
    alarm(seconds);
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) < 0) problem = -errno;
    if (memory > 0) {
        struct rlimit limit = {memory, memory};
        if (setrlimit(RLIMIT_DATA, &limit) < 0) problem = -errno;
    }
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    if (write(fd, "1000", 4) < 0) problem = -errno;
    close(fd);
    return problem;
}
