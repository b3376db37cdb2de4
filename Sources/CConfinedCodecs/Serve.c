#define _GNU_SOURCE 1
#include "Confinement.h"
#include "Internal.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/// The maximum number of pictures at the same time: more than the slots of a daemon.
enum { most_children = 512, descriptors = 3 };

static struct {
    pid_t pid;
    int control;
    /// The descriptor that asks before a thread is started; -1 without one.
    int guard;
    /// False once the daemon has closed the control.
    bool is_held;
} children[most_children];
static size_t child_count;
/// A pair of sockets for the guards of children: the end to which they send, and the end that this process reads.
static int guards[2];
/// The private memory and address space of this process, with which each child begins.
static uint64_t base_data, base_addresses;

static void measure(void) {
    unsigned long long pages[6] = {0};
    FILE *file = fopen("/proc/self/statm", "re");
    int found = !file ? 0 : fscanf(
        file, "%llu %llu %llu %llu %llu %llu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]);
    if (file) fclose(file);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    base_data = (found == 6 ? pages[5] * page : 1 << 30) + (1 << 20);
    base_addresses = found == 6 ? pages[0] * page : UINT64_MAX;
}

static void limit(pid_t pid, enum __rlimit_resource resource, uint64_t most, bool is_last) {
    struct rlimit limit;
    // This fails if the child has ended.
    if (prlimit(pid, resource, NULL, &limit) < 0) return;
    // The daemon's own limit is the maximum.
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    if (is_last) limit.rlim_max = limit.rlim_cur;
    (void)prlimit(pid, resource, &limit, NULL);
}

static uint64_t sum(uint64_t first, uint64_t second) {
    return first > UINT64_MAX / 2 || second > UINT64_MAX / 2 - first ? UINT64_MAX / 2 : first + second;
}

/// Limits the private memory of a child, and its address space, which limits all memory: shared mappings and stacks do
/// not count as private.
static void limit_memory(pid_t pid, uint64_t private, uint64_t shared, bool is_last) {
    // For guard pages between stacks, and the main stack.
    const uint64_t others = 64 << 20;
    limit(pid, RLIMIT_DATA, sum(base_data, private), is_last);
    limit(pid, RLIMIT_AS, sum(base_addresses, sum(sum(shared, private), others)), is_last);
}

static void report(int control, struct ccodec_event event) {
    // The daemon may have closed its end.
    (void)!send(control, &event, sizeof event, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void remove_child(size_t index) {
    close(children[index].control);
    if (children[index].guard >= 0) close(children[index].guard);
    children[index] = children[--child_count];
}

/// Reports the children that have ended.
static void reap(int signals) {
    struct signalfd_siginfo information;
    (void)!read(signals, &information, sizeof information);
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t index = 0; index < child_count; index++) {
            if (children[index].pid != pid) continue;
            report(
                children[index].control,
                (struct ccodec_event){
                    .kind = CCODEC_ENDED, .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                    .status = WIFEXITED(status) ? WEXITSTATUS(status) : 0});
            remove_child(index);
            break;
        }
    }
}

/// Reads a control: new limits, or its end.
static void follow(size_t index) {
    struct ccodec_allowance allowance;
    long count = recv(children[index].control, &allowance, sizeof allowance, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count == (long)sizeof allowance) {
        limit_memory(children[index].pid, allowance.memory, allowance.shared, true);
        limit(children[index].pid, RLIMIT_CPU, allowance.seconds, false);
        report(children[index].control, (struct ccodec_event){.kind = CCODEC_LIMITED});
        return;
    }
    kill(children[index].pid, SIGKILL);
    children[index].is_held = false;
}

static void start(const struct ccodec *codecs, size_t count, const struct ccodec_job *job, const int *received) {
    const struct ccodec *codec = NULL;
    for (size_t index = 0; index < count; index++)
        if (codecs[index].format == job->format) codec = &codecs[index];
    pid_t pid = codec && child_count < most_children ? fork() : -1;
    if (pid == 0) {
        limit_memory(getpid(), job->memory, job->bytes, false);
        int guard = ccodec_guard_threads();
        // Without the helper no process would answer.
        if (guard >= 0 && !ccodec_send_guard(guards[0], guard)) _exit(1);
        ccodec_child(codec, job, received[0], received[1]);
    }
    close(received[0]);
    close(received[1]);
    if (pid < 0) {
        // The daemon notices that the other end of the control is closed.
        close(received[2]);
        return;
    }
    children[child_count].pid = pid;
    children[child_count].control = received[2];
    children[child_count].guard = -1;
    children[child_count++].is_held = true;
}

/// Receives the guards of new children.
static void receive_guards(void) {
    pid_t pid;
    int guard;
    while ((guard = ccodec_receive_guard(guards[1], &pid)) >= 0) {
        size_t index = 0;
        while (index < child_count && (children[index].pid != pid || children[index].guard >= 0)) index++;
        if (index < child_count) children[index].guard = guard;
        else close(guard);
    }
}

/// Receives a job. Returns false when the daemon has closed the socket.
static bool receive(int control, const struct ccodec *codecs, size_t count) {
    struct ccodec_job job;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(descriptors * sizeof(int))];
    } rights;
    struct iovec piece = {.iov_base = &job, .iov_len = sizeof job};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = rights.room, .msg_controllen = sizeof rights.room};
    long length = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
    if (length < 0) return errno == EINTR || errno == EAGAIN;
    struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (length != sizeof job || !header || header->cmsg_len != CMSG_LEN(descriptors * sizeof(int))) return false;
    int received[descriptors];
    memcpy(received, CMSG_DATA(header), sizeof received);
    start(codecs, count, &job, received);
    return true;
}

/// True if children can be confined on this machine.
static bool can_confine(void) {
    pid_t pid = fork();
    if (pid == 0) _exit(ccodec_confine() ? 0 : 1);
    int status = 1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool greet(int control, const struct ccodec *codecs, size_t count) {
    struct ccodec_hello hello;
    memset(&hello, 0, sizeof hello);
    bool is_safe = can_confine();
    for (size_t index = 0; index < count; index++) {
        const char *reason = codecs[index].load ? codecs[index].load() : NULL;
        if (!is_safe) reason = "this system allows no seccomp filters, without which it is not decoded";
        if (reason && codecs[index].format < CCODEC_FORMATS)
            snprintf(hello.absent[codecs[index].format], CCODEC_REASON, "%s", reason);
    }
    measure();
    ccodec_drop_capabilities();
    return send(control, &hello, sizeof hello, MSG_NOSIGNAL) == (long)sizeof hello;
}

int ccodec_serve(int control, const struct ccodec *codecs, size_t count) {
    static struct pollfd entries[2 * most_children + 3];
    // The kernel kills these processes first when memory runs out.
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "1000", 4);
        close(file);
    }
    // The stack size of the libraries' threads: with the default size a stack would use most of a child's memory.
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) == 0) {
        if (pthread_attr_setstacksize(&attributes, 2 << 20) == 0) (void)pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }
    mallopt(M_ARENA_MAX, 1);
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &ended, NULL) < 0) return 1;
    if (!greet(control, codecs, count)) return 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, guards) < 0) return 1;
    int signals = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) return 1;
    while (true) {
        entries[0] = (struct pollfd){.fd = control, .events = POLLIN};
        entries[1] = (struct pollfd){.fd = signals, .events = POLLIN};
        entries[2] = (struct pollfd){.fd = guards[1], .events = POLLIN};
        size_t polled = child_count;
        struct pollfd *controls = entries + 3, *asking = controls + polled;
        for (size_t index = 0; index < polled; index++) {
            controls[index] = (struct pollfd){.fd = children[index].is_held ? children[index].control : -1, .events = POLLIN};
            asking[index] = (struct pollfd){.fd = children[index].guard, .events = POLLIN};
        }
        if (poll(entries, 2 * polled + 3, -1) < 0 && errno != EINTR) return 1;
        // Handle controls and guards before ends and jobs, which change the table.
        for (size_t index = 0; index < polled; index++) {
            if (controls[index].revents) follow(index);
            if (asking[index].revents & POLLIN) {
                ccodec_answer_guard(children[index].guard, children[index].pid);
            } else if (asking[index].revents) {
                // The process of this guard is ending; until then, poll would return at once.
                close(children[index].guard);
                children[index].guard = -1;
            }
        }
        if (entries[2].revents) receive_guards();
        if (entries[1].revents) reap(signals);
        if (entries[0].revents && !receive(control, codecs, count)) return 0;
    }
}
