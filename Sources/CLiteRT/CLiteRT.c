#include "CLiteRT.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool litert_open(const char *path, litert_api *api, char *reason, size_t size) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(reason, size, "%s", error ? error : "it cannot be opened");
        return false;
    }
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"CreateEnvironment", &api->create_environment},
        {"CreateModelFromBuffer", &api->create_model},
        {"DestroyModel", &api->destroy_model},
        {"CreateOptions", &api->create_options},
        {"DestroyOptions", &api->destroy_options},
        {"SetOptionsHardwareAccelerators", &api->set_accelerators},
        {"CreateOpaqueOptions", &api->create_opaque_options},
        {"AddOpaqueOptions", &api->add_opaque_options},
        {"CreateCompiledModel", &api->create_compiled_model},
        {"DestroyCompiledModel", &api->destroy_compiled_model},
        {"CompiledModelGetErrorMessages", &api->get_error_messages},
        {"GetModelSignature", &api->get_signature},
        {"GetNumSignatureInputs", &api->get_input_count},
        {"GetNumSignatureOutputs", &api->get_output_count},
        {"GetSignatureInputTensorByIndex", &api->get_input_tensor},
        {"GetSignatureOutputTensorByIndex", &api->get_output_tensor},
        {"GetRankedTensorType", &api->get_tensor_type},
        {"GetCompiledModelInputTensorLayout", &api->get_input_layout},
        {"GetCompiledModelOutputTensorLayouts", &api->get_output_layouts},
        {"CompiledModelResizeInputTensor", &api->resize_input},
        {"CreateTensorBufferFromHostMemory", &api->create_tensor_buffer},
        {"DestroyTensorBuffer", &api->destroy_tensor_buffer},
        {"RunCompiledModel", &api->run},
        {"SetCompiledModelCancellationFunction", &api->set_cancellation},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        char name[80];
        snprintf(name, sizeof name, "LiteRt%s", functions[index].name);
        void *function = dlsym(library, name);
        if (!function) {
            snprintf(reason, size, "it has no %s: it is not LiteRT 2.3", name);
            return false;
        }
        // POSIX lets a pointer to a function be copied from that of dlsym.
        memcpy(functions[index].place, &function, sizeof function);
    }
    return true;
}
