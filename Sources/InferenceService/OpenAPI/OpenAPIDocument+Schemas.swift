internal import ImagePipeline

extension OpenAPIDocument {
    private static let pictureFormats: String = ImageFormat.allCases.map { "\"\($0.rawValue)\"" }.joined(
        separator: ", ")

    static let schemas: String = """
        {
        "error": {"type": "object", "required": ["error", "code", "request_id"], "properties": {
          "error": {"type": "string"}, "code": {"$ref": "#/components/schemas/error_code"},
          "request_id": {"type": "string"}}},
        "error_code": {"type": "string", "description": "The kind of error; docs/http-api.md lists them.",
          "enum": [\(ErrorCode.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))]},
        "status": {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}},
        "class": {"type": "object", "required": ["index", "label", "confidence"], "properties": {
          "index": {"type": "integer", "minimum": 0}, "label": {"type": "string"}, "confidence": {"type": "number"}}},
        "image": {"type": "object", "required": ["format", "width", "height", "orientation"], "properties": {
          "format": {"type": "string", "enum": [\(pictureFormats)]}, "width": {"type": "integer"},
          "height": {"type": "integer"}, "orientation": {"type": "integer", "minimum": 1, "maximum": 8},
          "displayed": {"type": "object", "required": ["width", "height"], "properties": {
            "width": {"type": "integer"}, "height": {"type": "integer"}}},
          "seen": {"$ref": "#/components/schemas/rectangle"}}},
        "timing": {"type": "object", "required": ["queue", "decode", "inference", "total"], "properties": {
          "queue": {"type": "number"}, "decode": {"type": "number"}, "inference": {"type": "number"},
          "postprocess": {"type": "number"}, "total": {"type": "number"}}},
        "classification": {"type": "object",
          "required": ["model", "version", "request_id", "classifications", "image", "timing_ms"], "properties": {
          "model": {"type": "string"}, "version": {"type": "string"}, "request_id": {"type": "string"},
          "classifications": {"type": "array", "items": {"$ref": "#/components/schemas/class"}},
          "image": {"$ref": "#/components/schemas/image"}, "timing_ms": {"$ref": "#/components/schemas/timing"}}},
        "part_error": {"type": "object", "required": ["error", "code"], "properties": {
          "error": {"type": "string"}, "code": {"$ref": "#/components/schemas/error_code"}, "part": {"type": "integer"},
          "item": {"type": "integer"}}},
        "classification_batch": {"type": "object", "required": ["results"], "properties": {
          "results": {"type": "array", "items": {"anyOf": [
            {"$ref": "#/components/schemas/classification"}, {"$ref": "#/components/schemas/part_error"}]}}}},
        "explanation": {"type": "object", "properties": {"model": {"type": "string"}}},
        "predict_request": {"anyOf": [
          {"type": "object", "required": ["inputs"], "properties": {
            "inputs": {"description": "Values by name in an object, or by order in an array.",
              "anyOf": [{"type": "object"}, {"type": "array", "items": {}}, {"type": "number"}, {"type": "string"}]}},
            "additionalProperties": false},
          {"type": "object", "required": ["items"], "properties": {
            "items": {"type": "array", "minItems": 1, "items": {}}}, "additionalProperties": false},
          {"type": "object", "not": {"anyOf": [{"required": ["inputs"]}, {"required": ["items"]}]},
            "description": "Values by name, for models whose inputs are numbers, strings or dictionaries.",
            "additionalProperties": {"anyOf": [{"type": "number", "nullable": true}, {"type": "string"},
              {"type": "array", "items": {}},
              {"type": "object", "additionalProperties": {"type": "number"}}]},
            "example": {"goal": 1000, "backersCount": 20, "duration": 30}},
          {"type": "array", "items": {}}]},
        "prediction": {"type": "object", "required": ["model", "version", "request_id", "outputs", "timing_ms"],
          "properties": {
          "model": {"type": "string"}, "version": {"type": "string"}, "request_id": {"type": "string"},
          "outputs": {"type": "object", "description": "By name: numbers, nested arrays, labels or pictures."},
          "image": {"$ref": "#/components/schemas/image"}, "timing_ms": {"$ref": "#/components/schemas/timing"}}},
        "prediction_batch": {"type": "object", "required": ["model", "version", "request_id", "results"], "properties": {
          "results": {"type": "array", "items": {"anyOf": [
            {"type": "object", "required": ["outputs"]}, {"$ref": "#/components/schemas/part_error"}]}}}},
        "feature": {"type": "object", "required": ["name", "type", "dtype", "shape"], "properties": {
          "name": {"type": "string"}, "type": {"type": "string", "enum": ["array", "image", "string", "scalar"]},
          "dtype": {"type": "string"}, "shape": {"type": "array", "items": {"type": "integer"}}}},
        "model": {"type": "object", "required": ["name", "version", "state", "versions"], "properties": {
          "name": {"type": "string"}, "version": {"type": "string"}, "state": {"$ref": "#/components/schemas/state"},
          "reason": {"type": "string"},
          "stale": {"type": "string", "description": "Why a ready model does not match its files: its last load failed."},
          "versions": {"type": "array", "items": {"type": "object", "required": ["version", "state"], "properties": {
            "version": {"type": "string"}, "state": {"$ref": "#/components/schemas/state"},
            "reason": {"type": "string"}, "stale": {"type": "string"}}}},
          "metadata": {"type": "object"},
          "inputs": {"type": "array", "items": {"$ref": "#/components/schemas/feature"}},
          "outputs": {"type": "array", "items": {"$ref": "#/components/schemas/feature"}},
          "labels": {"type": "integer"}, "tasks": {"type": "array", "items": {"type": "string"}}, "device": {"type": "string"}, "load_ms": {"type": "number"},
          "execution": {"type": "object", "properties": {"precision": {"type": "string"}, "hint": {"type": "string"},
            "threads": {"type": "integer"}, "streams": {"type": "integer"},
            "lone": {"type": "object", "description": "The variant for requests that run alone.",
              "required": ["state", "threads"], "properties": {
              "state": {"type": "string", "enum": ["not_compiled", "compiling", "ready", "failed"]},
              "reason": {"type": "string"}, "threads": {"type": "integer"}, "load_ms": {"type": "number"},
              "cached": {"type": "boolean"}, "memory_bytes": {"type": "integer"}, "predictions": {"type": "integer"}}}}},
          "integer_weights": {"type": "object", "description": "How 8-bit weights with zero points are computed.",
            "properties": {"convolutions": {"type": "integer"}, "in_integers": {"type": "integer"},
              "depthwise_convolutions": {"type": "integer"}, "depthwise_in_integers": {"type": "integer"},
              "copied_channels": {"type": "integer"}, "reason": {"type": "string"}}},
          "cached": {"type": "boolean"}, "instances": {"type": "integer"}, "in_flight": {"type": "object"},
          "options": {}}},
        "state": {"type": "string", "enum": ["loading", "ready", "unloaded", "failed"]},
        "models": {"type": "object", "required": ["models"], "properties": {
          "default": {"type": "string", "nullable": true},
          "models": {"type": "array", "items": {"$ref": "#/components/schemas/model"}}}},
        \(observationSchemas),
        \(openInferenceSchemas)
        }
        """

    private static let openInferenceSchemas: String = """
        "server_metadata": {"type": "object", "required": ["name", "version", "extensions"], "properties": {
          "name": {"type": "string"}, "version": {"type": "string"},
          "extensions": {"type": "array", "items": {"type": "string"}}}},
        "health": {"type": "object", "properties": {"live": {"type": "boolean"}, "ready": {"type": "boolean"}}},
        "model_ready": {"type": "object", "required": ["name", "ready"], "properties": {
          "name": {"type": "string"}, "ready": {"type": "boolean"}}},
        "tensor_metadata": {"type": "object", "required": ["name", "datatype", "shape"], "properties": {
          "name": {"type": "string"}, "datatype": {"$ref": "#/components/schemas/datatype"},
          "shape": {"type": "array", "items": {"type": "integer", "minimum": -1}}}},
        "datatype": {"type": "string", "enum": ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32",
          "INT64", "FP16", "BF16", "FP32", "FP64", "BYTES"]},
        "model_metadata": {"type": "object", "required": ["name", "platform", "inputs", "outputs"], "properties": {
          "name": {"type": "string"}, "versions": {"type": "array", "items": {"type": "string"}},
          "platform": {"type": "string"},
          "inputs": {"type": "array", "items": {"$ref": "#/components/schemas/tensor_metadata"}},
          "outputs": {"type": "array", "items": {"$ref": "#/components/schemas/tensor_metadata"}}}},
        "model_configuration": {"type": "object", "required": ["name", "platform", "max_batch_size", "input", "output"],
          "properties": {
          "name": {"type": "string"}, "platform": {"type": "string"}, "backend": {"type": "string"},
          "max_batch_size": {"type": "integer", "minimum": 0,
            "description": "Maximum number of items of a request; 0 if the tensors have no batch axis."},
          "input": {"type": "array", "items": {"$ref": "#/components/schemas/tensor_configuration"}},
          "output": {"type": "array", "items": {"$ref": "#/components/schemas/tensor_configuration"}},
          "instance_group": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "kind": {"type": "string"}, "count": {"type": "integer"}}}}}},
        "tensor_configuration": {"type": "object", "required": ["name", "data_type", "dims"], "properties": {
          "name": {"type": "string"}, "data_type": {"type": "string", "pattern": "^TYPE_"},
          "dims": {"type": "array", "items": {"type": "integer", "minimum": -1}}, "optional": {"type": "boolean"}}},
        "infer_request": {"type": "object", "required": ["inputs"], "properties": {
          "id": {"type": "string"}, "parameters": {"$ref": "#/components/schemas/infer_parameters"},
          "inputs": {"type": "array", "items": {"type": "object", "required": ["name", "shape", "datatype"],
            "properties": {
            "name": {"type": "string"}, "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "datatype": {"$ref": "#/components/schemas/datatype"},
            "parameters": {"type": "object", "properties": {"binary_data_size": {"type": "integer", "minimum": 0}}},
            "data": {"$ref": "#/components/schemas/tensor_data"}}}},
          "outputs": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"},
            "parameters": {"type": "object", "properties": {
              "binary_data": {"type": "boolean"}, "classification": {"type": "integer", "minimum": 0}}}}}}}},
        "infer_parameters": {"type": "object", "properties": {
          "binary_data_output": {"type": "boolean"},
          "priority": {"type": "integer", "minimum": 0, "description": "Accepted, without effect."},
          "timeout": {"type": "integer", "minimum": 0, "description": "Microseconds; 0: no timeout."}}},
        "tensor_data": {"type": "array", "description": "Flat or nested, in row-major order.", "items": {}},
        "infer_response": {"type": "object", "required": ["model_name", "outputs"], "properties": {
          "model_name": {"type": "string"}, "model_version": {"type": "string"}, "id": {"type": "string"},
          "outputs": {"type": "array", "items": {"type": "object", "required": ["name", "shape", "datatype"],
            "properties": {
            "name": {"type": "string"}, "shape": {"type": "array", "items": {"type": "integer"}},
            "datatype": {"$ref": "#/components/schemas/datatype"}, "parameters": {"type": "object"},
            "data": {"$ref": "#/components/schemas/tensor_data"}}}}}},
        "duration": {"type": "object", "required": ["count", "ns"], "properties": {
          "count": {"type": "integer"}, "ns": {"type": "integer"}}},
        "statistics": {"type": "object", "required": ["model_stats"], "properties": {
          "model_stats": {"type": "array", "items": {"type": "object",
            "required": ["name", "version", "last_inference", "inference_count", "execution_count", "inference_stats",
              "batch_stats"], "properties": {
            "name": {"type": "string"}, "version": {"type": "string"}, "last_inference": {"type": "integer"},
            "inference_count": {"type": "integer"}, "execution_count": {"type": "integer"},
            "inference_stats": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/duration"}},
            "batch_stats": {"type": "array", "items": {"type": "object"}}}}}}},
        "repository_index": {"type": "array", "items": {"type": "object", "required": ["name", "version", "state", "reason"],
          "properties": {
          "name": {"type": "string"}, "version": {"type": "string"},
          "state": {"type": "string", "enum": ["READY", "LOADING", "UNLOADING", "UNAVAILABLE"]},
          "reason": {"type": "string"}}}}
        """
}
