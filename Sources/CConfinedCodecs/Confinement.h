#pragma once
#include <stdbool.h>
#include <sys/types.h>

/// Closes all descriptors from `first` on.
void ccodec_close_from(int first);
/// Drops all capabilities permanently, also for all children. Root has them, and none is needed any more.
void ccodec_drop_capabilities(void);
/// Sets the limits of a child: processor time in seconds, which its parent may raise up to `most`; no files, no core
/// dump, lower priority; it ends with its parent.
bool ccodec_limit(unsigned seconds, unsigned most);
/// Permanently restricts this process to computing, allocating memory, starting threads and using its open descriptors.
bool ccodec_confine(void);

/// Makes each thread start of this process wait for ccodec_answer_guard with the returned descriptor. Returns -1 if the
/// kernel (before 5.5) or the container does not support such filters; then the control group limits threads.
int ccodec_guard_threads(void);
/// Sends a guard to the helper.
bool ccodec_send_guard(int socket, int guard);
/// The next guard, and the process that sent it; -1 if no guard is pending.
int ccodec_receive_guard(int socket, pid_t *pid);
/// Answers a process that asks to start a thread.
void ccodec_answer_guard(int guard, pid_t pid);
