internal import SystemSupport

/// The description of every route in the form of OpenAPI 3.0: what `GET /openapi.json` answers.
///
/// It is text, written by hand: a generator would be longer. Tests check it with a real validator, and real answers
/// against it.
package enum OpenAPIDocument {
    /// The document.
    package static let json: String = """
        {
        "openapi": "3.0.3",
        "info": {
          "title": "Ocelli", "version": "\(OcelliVersion.number)",
          "description": "Serves image models over HTTP/1.1.",
          "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"}
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "tags": [
          {"name": "classify"}, {"name": "predict"}, {"name": "observe"}, {"name": "models"}, {"name": "operations"},
          {"name": "Open Inference Protocol v2"}
        ],
        "paths": {
        \(operations),
        \(predictions),
        \(observations),
        \(openInference)
        },
        "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "Where tokens_file is set."}},
        "parameters": \(parameterList),
        "responses": \(responses),
        "schemas": \(schemas)
        }
        }
        """

    static let parameterList: String = """
        {
        "name": {"name": "name", "in": "path", "required": true, "schema": {"type": "string", "minLength": 1},
          "description": "The model's name."},
        "version": {"name": "version", "in": "path", "required": true, "schema": {"type": "string", "minLength": 1},
          "description": "The model's version."},
        "top": {"name": "top", "in": "query", "schema": {"type": "integer", "minimum": 1},
          "description": "How many classes the answer contains."},
        "threshold": {"name": "threshold", "in": "query", "schema": {"type": "number", "minimum": 0, "maximum": 1},
          "description": "The minimum confidence of a class in the answer."},
        "crop": {"name": "crop", "in": "query", "schema": {"type": "string", "enum": ["center", "fit", "fill"]},
          "description": "How pictures of another shape are fitted. Default: the bundle's."},
        "orientation": {"name": "orientation", "in": "query",
          "schema": {"type": "string", "enum": ["apply", "ignore"]},
          "description": "Whether the EXIF orientation is applied."},
        "explain": {"name": "explain", "in": "query",
          "schema": {"type": "string", "enum": ["preprocess", "png", "npy"]},
          "description": "Return what the model sees instead of labels."},
        "timeout": {"name": "timeout_ms", "in": "query", "schema": {"type": "integer", "minimum": 1},
          "description": "How long the request may take, in milliseconds."},
        \(observationParameters)
        }
        """

    static let responses: String = """
        {
        "error": {"description": "An error.",
          "headers": {"X-Request-ID": {"schema": {"type": "string"}}},
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/error"}}}}
        }
        """

    /// A response of JSON of a schema.
    static func answer(_ schema: String, _ description: String) -> String {
        """
        {"description": "\(description)",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/\(schema)"}}}}
        """
    }

    /// The parameters of those names.
    static func parameters(_ names: String...) -> String {
        "[" + names.map { "{\"$ref\": \"#/components/parameters/\($0)\"}" }.joined(separator: ", ") + "]"
    }

    static let error: String = "\"default\": {\"$ref\": \"#/components/responses/error\"}"
}
