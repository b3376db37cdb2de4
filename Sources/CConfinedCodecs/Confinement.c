#define _GNU_SOURCE 1
#include "Confinement.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void ccodec_close_from(int first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0) return;
#endif
    struct rlimit limit;
    int most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1 << 20 ? (int)limit.rlim_cur : 1 << 20;
    for (int descriptor = first; descriptor < most; descriptor++) close(descriptor);
}

void ccodec_drop_capabilities(void) {
    // Only a process with capabilities may change the sets of future programs.
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    // In a unit or container that forbids the call, the process has no capabilities.
    (void)syscall(SYS_capset, &header, none);
}

bool ccodec_limit(unsigned seconds, unsigned most) {
    // Remove the handlers with which runtimes report crashes; this process could not run them.
    for (int signal = 1; signal < NSIG; signal++) (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int parent = getppid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || parent == 1) return false;
    struct rlimit nothing = {0, 0}, time = {seconds, (rlim_t)most + 1}, descriptors = {8, 8};
    if (setrlimit(RLIMIT_CORE, &nothing) < 0 || setrlimit(RLIMIT_FSIZE, &nothing) < 0) return false;
    if (setrlimit(RLIMIT_MEMLOCK, &nothing) < 0 || setrlimit(RLIMIT_NOFILE, &descriptors) < 0) return false;
    // At the soft limit the kernel sends SIGXCPU, which identifies the reason.
    if (setrlimit(RLIMIT_CPU, &time) < 0) return false;
    // A lower priority than requests have, as for long decodings in the daemon. Decoding continues if this is not
    // permitted.
    (void)setpriority(PRIO_PROCESS, 0, 10);
    return true;
}

#if defined(__x86_64__)
enum { architecture = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { architecture = AUDIT_ARCH_AARCH64 };
#else
#error "seccomp: the architecture's number is needed"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RETURN(SECCOMP_RET_ALLOW)
#define FAIL(call, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RETURN(SECCOMP_RET_ERRNO | error)
/// Allows a call if the lower half of an argument has none of the bits.
#define ALLOW_WITHOUT(call, index, bits)                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                                          \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)
/// Allows a call if an argument has one of the bits.
#define ALLOW_WITH(call, index, bits)                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                                          \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)
/// Allows a call if an argument is this number.
#define ALLOW_EQUAL(call, index, number)                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                                          \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)

bool ccodec_confine(void) {
    uint32_t self = (uint32_t)getpid();
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        ALLOW(futex),
        ALLOW(munmap),
        ALLOW(madvise),
        ALLOW(mremap),
        ALLOW(brk),
        ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
        ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
        // Messages over the single socket.
        ALLOW(sendto),
        ALLOW(recvmsg),
        ALLOW(write),
        ALLOW(close),
        // Threads, not processes. A filter cannot see the arguments of clone3; after ENOSYS the C library uses clone.
        ALLOW_WITH(clone, 0, CLONE_THREAD),
        FAIL(clone3, ENOSYS),
        ALLOW(set_robust_list),
#ifdef SYS_rseq
        ALLOW(rseq),
#endif
        ALLOW(sched_yield),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigaction),
        ALLOW(rt_sigreturn),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(getpid),
        ALLOW(gettid),
        // For abort().
        ALLOW_EQUAL(tgkill, 0, self),
        ALLOW(clock_gettime),
        ALLOW(clock_nanosleep),
        ALLOW(getrandom),
        // Without this call a library starts one thread instead of one per processor.
        FAIL(sched_getaffinity, EPERM),
        // File system queries of libraries fail.
        FAIL(openat, EACCES),
        FAIL(newfstatat, EACCES),
        FAIL(fstat, EACCES),
        FAIL(lseek, ESPIPE),
        FAIL(ioctl, ENOTTY),
        FAIL(prctl, EPERM),
        FAIL(prlimit64, EPERM),
        FAIL(sysinfo, EPERM),
        FAIL(uname, EPERM),
#ifdef SYS_open
        FAIL(open, EACCES),
        FAIL(access, EACCES),
        FAIL(readlink, EACCES),
#endif
        RETURN(SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
