extension OpenAPIDocument {
    static let openInference: String = """
        "/v2": {"get": {\(tag), "operationId": "server_metadata", "summary": "The server, its version and its extensions",
          "responses": {"200": \(answer("server_metadata", "The server.")), \(error)}}},
        "/v2/health/live": {"get": {\(tag), "operationId": "server_live", "summary": "Whether the server answers",
          "responses": {"200": \(answer("health", "It does.")), \(error)}}},
        "/v2/health/ready": {"get": {\(tag), "operationId": "server_ready", "summary": "Whether every eager model is ready",
          "responses": {"200": \(answer("health", "It is ready.")), \(error)}}},
        \(model("/v2/models/{name}", "model", parameters("name"))),
        \(model("/v2/models/{name}/versions/{version}", "version", parameters("name", "version"))),
        "/v2/models/stats": {"get": {\(tag), "operationId": "statistics", "summary": "Statistics of every loaded model",
          "responses": {"200": \(answer("statistics", "The statistics.")), \(error)}}},
        "/v2/repository/index": {"post": {\(tag), "operationId": "repository_index", "summary": "Every model and its state",
          "requestBody": {"required": false, "content": {"application/json": {"schema": {"type": "object", "properties": {
            "ready": {"type": "boolean", "description": "List only models that are ready."}}}}}},
          "responses": {"200": \(answer("repository_index", "The index.")), \(error)}}},
        \(control("load", "Load or reload a model")),
        \(control("unload", "Unload a model"))
        """

    private static let tag: String = "\"tags\": [\"Open Inference Protocol v2\"]"

    private static func model(_ path: String, _ name: String, _ parameters: String) -> String {
        """
        "\(path)": {"parameters": \(parameters),
          "get": {\(tag), "operationId": "\(name)_metadata", "summary": "Inputs and outputs of a model",
            "responses": {"200": \(answer("model_metadata", "The model.")), \(error)}}},
        "\(path)/ready": {"parameters": \(parameters),
          "get": {\(tag), "operationId": "\(name)_ready", "summary": "Whether a model is ready",
            "responses": {"200": \(answer("model_ready", "It is ready.")), \(error)}}},
        "\(path)/config": {"parameters": \(parameters),
          "get": {\(tag), "operationId": "\(name)_configuration", "summary": "Inputs and outputs of a model, as Triton's ModelConfig",
            "responses": {"200": \(answer("model_configuration", "The model.")), \(error)}}},
        "\(path)/stats": {"parameters": \(parameters),
          "get": {\(tag), "operationId": "\(name)_statistics", "summary": "Statistics of a model since it was loaded",
            "responses": {"200": \(answer("statistics", "The statistics.")), \(error)}}},
        "\(path)/infer": {"parameters": \(parameters),
          "post": {\(tag), "operationId": "\(name)_infer", "summary": "Run a model on tensors or encoded pictures",
            "parameters": [{"name": "Inference-Header-Content-Length", "in": "header",
              "schema": {"type": "integer", "minimum": 0},
              "description": "Length of the JSON at the start of the body, if binary data follows it."}],
            "requestBody": {"required": true, "content": {
              "application/json": {"schema": {"$ref": "#/components/schemas/infer_request"}},
              "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
            "responses": {"200": {"description": "The outputs.",
              "headers": {"Inference-Header-Content-Length": {"schema": {"type": "integer"},
                "description": "Length of the JSON, if binary data follows it."}},
              "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/infer_response"}},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}, \(error)}}}
        """
    }

    private static func control(_ verb: String, _ summary: String) -> String {
        """
        "/v2/repository/models/{name}/\(verb)": {"parameters": \(parameters("name")),
          "post": {\(tag), "operationId": "repository_\(verb)", "summary": "\(summary)",
            "requestBody": {"required": false, "content": {"application/json": {"schema": {"type": "object", "properties": {
              "parameters": {"type": "object"}}}}}},
            "responses": {"200": {"description": "Done.",
              "content": {"application/json": {"schema": {"type": "object"}}}}, \(error)}}}
        """
    }
}
