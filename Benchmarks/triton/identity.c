// A Triton backend whose models return their input: one copy from the request into the response. Only as much as Benchmarks/
// triton/run needs: one input, one output "y" of the same type and shape, in main memory.
//
// The functions are those of Triton's backend API (core/include/triton/core/tritonbackend.h); its headers are not in the
// wheel, so the used part is declared here. Errors are ignored: a benchmark that fails has no figures.
#include <stdint.h>
#include <string.h>

typedef struct TRITONSERVER_Error Error;
typedef struct TRITONBACKEND_Request Request;
typedef struct TRITONBACKEND_Input Input;
typedef struct TRITONBACKEND_Output Output;
typedef struct TRITONBACKEND_Response Response;
typedef struct TRITONBACKEND_ModelInstance ModelInstance;

Error *TRITONBACKEND_RequestInputByIndex(Request *, uint32_t, Input **);
Error *TRITONBACKEND_InputProperties(
    Input *, const char **name, int *type, const int64_t **shape, uint32_t *rank, uint64_t *size, uint32_t *buffers);
Error *TRITONBACKEND_InputBuffer(Input *, uint32_t, const void **, uint64_t *size, int *memory, int64_t *device);
Error *TRITONBACKEND_ResponseNew(Response **, Request *);
Error *TRITONBACKEND_ResponseOutput(
    Response *, Output **, const char *name, int type, const int64_t *shape, uint32_t rank);
Error *TRITONBACKEND_OutputBuffer(Output *, void **, uint64_t size, int *memory, int64_t *device);
Error *TRITONBACKEND_ResponseSend(Response *, uint32_t flags, Error *);
Error *TRITONBACKEND_RequestRelease(Request *, uint32_t flags);

Error *TRITONBACKEND_ModelInstanceExecute(ModelInstance *instance, Request **requests, uint32_t count) {
    for (uint32_t index = 0; index < count; index++) {
        Input *input;
        Output *output;
        Response *response;
        const char *name;
        const int64_t *shape;
        int type, memory = 0;
        int64_t device = 0;
        uint32_t rank, buffers;
        uint64_t size;
        void *target;
        TRITONBACKEND_RequestInputByIndex(requests[index], 0, &input);
        TRITONBACKEND_InputProperties(input, &name, &type, &shape, &rank, &size, &buffers);
        TRITONBACKEND_ResponseNew(&response, requests[index]);
        TRITONBACKEND_ResponseOutput(response, &output, "y", type, shape, rank);
        TRITONBACKEND_OutputBuffer(output, &target, size, &memory, &device);
        char *place = target;
        for (uint32_t buffer = 0; buffer < buffers; buffer++) {
            const void *source;
            uint64_t length;
            TRITONBACKEND_InputBuffer(input, buffer, &source, &length, &memory, &device);
            memcpy(place, source, length);
            place += length;
        }
        TRITONBACKEND_ResponseSend(response, 1 /* the last one */, NULL);
        TRITONBACKEND_RequestRelease(requests[index], 1 /* all of it */);
    }
    return NULL;
}
