internal import Inference

/// Boxes, masks, keypoints, embeddings.
extension OpenAPIDocument {
    static let observations: String = ObservationTask.allCases.flatMap { task in
        [
            "\"/v1/\(task.rawValue)\": {\(observe(task, "the default model"))}",
            "\"/v1/models/{name}/\(task.rawValue)\": {\"parameters\": \(parameters("name")), "
                + "\(observe(task, "a model", "_model"))}",
            "\"/v1/models/{name}/versions/{version}/\(task.rawValue)\": {\"parameters\": "
                + "\(parameters("name", "version")), \(observe(task, "one version of a model", "_version"))}",
        ]
    }.joined(separator: ",\n")

    private static func observe(_ task: ObservationTask, _ what: String, _ suffix: String = "") -> String {
        let own =
            switch task {
            case .detect, .segment: ["mask"]
            case .embed: ["encoding"]
            case .keypoints: [String]()
            }
        let names = ["least", "iou", "most", "classes", "crop", "orientation", "timeout"] + own
        let references = names.map { "{\"$ref\": \"#/components/parameters/\($0)\"}" }.joined(separator: ", ")
        let binary =
            switch task {
            case .segment: ", \"image/png\": \(picture)"
            case .embed: ", \"application/octet-stream\": \(picture)"
            default: ""
            }
        return """
            "post": {"tags": ["observe"], "operationId": "\(task.rawValue)\(suffix)",
                "summary": "Find \(task.gives) in one picture or several with \(what)",
                "parameters": [\(references)],
                "requestBody": {"required": true, "content": {\(pictureBodies)}},
                "responses": {"200": {"description": "What was found; for several pictures, results.",
                  "headers": {"Server-Timing": {"schema": {"type": "string"}}},
                  "content": {"application/json": {"schema": {"anyOf": [
                    {"$ref": "#/components/schemas/\(task.rawValue)_answer"},
                    {"$ref": "#/components/schemas/observation_batch"}]}}\(binary)}}, \(error)}}
            """
    }

    static let observationParameters: String = """
        "least": {"name": "threshold", "in": "query", "schema": {"type": "number", "minimum": 0, "maximum": 1},
          "description": "The minimum confidence of a result. Default: the bundle's."},
        "iou": {"name": "iou", "in": "query", "schema": {"type": "number", "minimum": 0, "maximum": 1},
          "description": "The overlap from which the less confident of two boxes is dropped. Default: the bundle's."},
        "most": {"name": "top", "in": "query", "schema": {"type": "integer", "minimum": 1},
          "description": "The maximum number of detections, or of classes of a mask."},
        "classes": {"name": "classes", "in": "query", "schema": {"type": "string"},
          "description": "Report only these classes: labels or numbers, separated by commas."},
        "mask": {"name": "mask", "in": "query", "schema": {"type": "string", "enum": ["png", "rle", "none"]},
          "description": "How masks are encoded; png is for segment only."},
        "encoding": {"name": "encoding", "in": "query", "schema": {"type": "string", "enum": ["float", "base64"]},
          "description": "How an embedding is encoded: numbers, or base64 of little-endian 32-bit floats."}
        """

    static let observationSchemas: String = """
        "rectangle": {"type": "object", "required": ["x", "y", "width", "height"], "properties": {
          "x": {"type": "number"}, "y": {"type": "number"}, "width": {"type": "number"}, "height": {"type": "number"}}},
        "keypoint": {"type": "object", "nullable": true, "required": ["name", "x", "y"], "properties": {
          "name": {"type": "string"}, "x": {"type": "number"}, "y": {"type": "number"}, "confidence": {"type": "number"}}},
        "run_lengths": {"type": "object", "required": ["size", "counts"], "properties": {
          "size": {"type": "array", "items": {"type": "integer"}, "description": "Height, width."},
          "counts": {"type": "string", "description": "COCO's compressed run lengths."}}},
        "detection": {"type": "object", "required": ["index", "label", "confidence", "box"], "properties": {
          "index": {"type": "integer"}, "label": {"type": "string"}, "confidence": {"type": "number"},
          "box": {"$ref": "#/components/schemas/rectangle"},
          "keypoints": {"type": "array", "items": {"$ref": "#/components/schemas/keypoint"}},
          "mask": {"$ref": "#/components/schemas/run_lengths"}}},
        "detect_answer": {"type": "object", "required": ["model", "detections", "image", "timing_ms"], "properties": {
          "model": {"type": "string"},
          "detections": {"type": "array", "items": {"$ref": "#/components/schemas/detection"}},
          "image": {"$ref": "#/components/schemas/image"}, "timing_ms": {"$ref": "#/components/schemas/timing"}}},
        "segment_answer": {"type": "object", "required": ["model", "segments", "image", "timing_ms"], "properties": {
          "model": {"type": "string"},
          "segments": {"type": "array", "items": {"type": "object", "required": ["index", "label", "area"], "properties": {
            "index": {"type": "integer"}, "label": {"type": "string"}, "area": {"type": "integer"},
            "mask": {"$ref": "#/components/schemas/run_lengths"}}}},
          "mask": {"type": "object", "properties": {"b64": {"type": "string"}}},
          "image": {"$ref": "#/components/schemas/image"}, "timing_ms": {"$ref": "#/components/schemas/timing"}}},
        "keypoints_answer": {"type": "object", "required": ["model", "keypoints", "image", "timing_ms"], "properties": {
          "model": {"type": "string"},
          "keypoints": {"type": "array", "items": {"$ref": "#/components/schemas/keypoint"}},
          "image": {"$ref": "#/components/schemas/image"}, "timing_ms": {"$ref": "#/components/schemas/timing"}}},
        "embed_answer": {"type": "object", "required": ["model", "embedding", "dimension", "image", "timing_ms"],
          "properties": {
          "model": {"type": "string"}, "embedding": {"anyOf": [
            {"type": "array", "items": {"type": "number", "nullable": true}},
            {"type": "object", "properties": {"b64": {"type": "string"}}}]},
          "dimension": {"type": "integer"},
          "image": {"$ref": "#/components/schemas/image"}, "timing_ms": {"$ref": "#/components/schemas/timing"}}},
        "observation_batch": {"type": "object", "required": ["results"], "properties": {
          "results": {"type": "array", "items": {"type": "object"}}}}
        """
}
