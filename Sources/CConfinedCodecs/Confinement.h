#pragma once
#include <stdbool.h>

/// Closes all descriptors from this one on.
void ccodec_close_from(int first);
/// Limits of a child: seconds of a processor, no files, no core, lower priority, the parent's end.
bool ccodec_limit(unsigned seconds);
/// Allows this process, for ever, to compute, to take memory, to start threads and to use the descriptors that it has.
bool ccodec_confine(void);
