internal import ImagePipeline

extension OpenAPIDocument {
    static let operations: String = """
        "/healthz": {"get": {"tags": ["operations"], "operationId": "health", "summary": "Whether the process answers",
          "responses": {"200": \(answer("status", "It does.")), \(error)}}},
        "/readyz": {"get": {"tags": ["operations"], "operationId": "readiness",
          "summary": "Whether every eager model is ready and the daemon is not draining",
          "responses": {"200": \(answer("status", "It is ready.")), \(error)}}},
        "/metrics": {"get": {"tags": ["operations"], "operationId": "metrics",
          "summary": "Counters, gauges and histograms for Prometheus",
          "responses": {"200": {"description": "Prometheus text 0.0.4.",
            "content": {"text/plain": {"schema": {"type": "string"}}}}, \(error)}}},
        "/": {"get": {"tags": ["operations"], "operationId": "page", "summary": "A page to try pictures by hand",
          "responses": {"200": {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}},
            \(error)}}},
        "/openapi.json": {"get": {"tags": ["operations"], "operationId": "openapi", "summary": "This document",
          "responses": {"200": {"description": "OpenAPI 3.0.",
            "content": {"application/json": {"schema": {"type": "object"}}}}, \(error)}}},
        "/v1/models": {"get": {"tags": ["models"], "operationId": "models", "summary": "Every model and its versions",
          "responses": {"200": \(answer("models", "The models.")), \(error)}}},
        "/v1/models/{name}": {"parameters": \(parameters("name")),
          "get": {"tags": ["models"], "operationId": "model", "summary": "One model",
            "responses": {"200": \(answer("model", "The model.")), \(error)}}},
        "/v1/models/{name}/versions/{version}": {"parameters": \(parameters("name", "version")),
          "get": {"tags": ["models"], "operationId": "model_version", "summary": "One version of a model",
            "responses": {"200": \(answer("model", "The model.")), \(error)}}}
        """

    static let predictions: String = """
        "/v1/classify": {\(classify("classify", "the default model"))},
        "/v1/models/{name}/classify": {"parameters": \(parameters("name")),
          \(classify("classify_model", "a model"))},
        "/v1/models/{name}/versions/{version}/classify": {"parameters": \(parameters("name", "version")),
          \(classify("classify_version", "one version of a model"))},
        "/v1/models/{name}/predict": {"parameters": \(parameters("name")), \(predict("predict_model", "a model"))},
        "/v1/models/{name}/versions/{version}/predict": {"parameters": \(parameters("name", "version")),
          \(predict("predict_version", "one version of a model"))}
        """

    static let picture: String = "{\"schema\": {\"type\": \"string\", \"format\": \"binary\"}}"
    static let pictures: String = """
        {"schema": {"type": "object", "required": ["image"], "properties": {
              "image": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}}}}
        """

    /// The bodies that are pictures, by their media types.
    static let pictureBodies: String = {
        let types = ImageFormat.allCases.map(\.mediaType) + ["application/octet-stream"]
        return types.map { "\"\($0)\": \(picture), " }.joined() + "\"multipart/form-data\": \(pictures)"
    }()

    private static func classify(_ name: String, _ what: String) -> String {
        """
        "post": {"tags": ["classify"], "operationId": "\(name)", "summary": "Classify one picture or several with \(what)",
            "parameters": \(parameters("top", "threshold", "crop", "orientation", "timeout", "explain")),
            "requestBody": {"required": true, "content": {
              \(pictureBodies)}},
            "responses": {"200": {"description": "The classes, most confident first; for several pictures, results.",
              "headers": {"Server-Timing": {"schema": {"type": "string"}}},
              "content": {
                "application/json": {"schema": {"anyOf": [
                  {"$ref": "#/components/schemas/classification"}, {"$ref": "#/components/schemas/classification_batch"},
                  {"$ref": "#/components/schemas/explanation"}]}},
                "image/png": \(picture), "application/x-npy": \(picture)}}, \(error)}}
        """
    }

    private static func predict(_ name: String, _ what: String) -> String {
        """
        "post": {"tags": ["predict"], "operationId": "\(name)", "summary": "Run \(what) on any inputs",
            "parameters": \(parameters("top", "threshold", "crop", "orientation", "timeout")),
            "requestBody": {"required": true, "content": {
              "application/json": {"schema": {"$ref": "#/components/schemas/predict_request"}},
              \(pictureBodies)}},
            "responses": {"200": {"description": "The outputs by name; for several items, results.",
              "headers": {"Server-Timing": {"schema": {"type": "string"}}},
              "content": {
                "application/json": {"schema": {"anyOf": [
                  {"$ref": "#/components/schemas/prediction"}, {"$ref": "#/components/schemas/prediction_batch"}]}},
                "image/png": \(picture)}}, \(error)}}
        """
    }
}
