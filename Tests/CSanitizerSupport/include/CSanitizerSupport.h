#ifndef OCELLI_C_SANITIZER_SUPPORT_H
#define OCELLI_C_SANITIZER_SUPPORT_H

// Nothing to call: linking this target is enough. See MutexAnnotations.c.

#endif
