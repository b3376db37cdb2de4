// OpenVINO's C API. Its variadic functions all have `_props` counterparts, so no wrapper is needed.
#pragma once
#include <openvino/c/openvino.h>
