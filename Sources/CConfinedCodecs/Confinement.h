#pragma once
#include <stdbool.h>
#include <sys/types.h>

/// Closes all descriptors from this one on.
void ccodec_close_from(int first);
/// Gives up all capabilities, for ever and for all children: root has them, and none is needed from now on.
void ccodec_drop_capabilities(void);
/// Limits of a child: seconds of a processor, which its parent may raise up to `most`; no files, no core, lower priority, the parent's
/// end.
bool ccodec_limit(unsigned seconds, unsigned most);
/// Allows this process, for ever, to compute, to take memory, to start threads and to use the descriptors that it has.
bool ccodec_confine(void);

/// Has each thread that this process starts from now on wait for ccodec_answer_guard with the returned descriptor. -1 where the kernel
/// (before 5.5) or the container has no such filters: the control group bounds threads then.
int ccodec_guard_threads(void);
/// Sends a guard to the helper.
bool ccodec_send_guard(int socket, int guard);
/// The next guard, and the process that sent it; -1 if there is none.
int ccodec_receive_guard(int socket, pid_t *pid);
/// Answers a process that wants to start a thread.
void ccodec_answer_guard(int guard, pid_t pid);
