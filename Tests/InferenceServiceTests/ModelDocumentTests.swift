import Foundation
import InferenceService
internal import ServiceCore
import TestSupport
import Testing
internal import WireFormats

/// The OpenAPI document of one model: which routes it has, the limits of its lists, texts that anybody may have chosen.
@Suite struct ModelDocumentTests {
    private func text(_ labels: [String], name: String = "parts") throws -> String {
        try ModelDocument.text(
            Service.routes.documented, of: ModelInterface(taught: name, version: "3", labels: labels, embedder: nil))
    }

    private func document(_ labels: [String], name: String = "parts") throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text(labels, name: name).utf8)) as? [String: Any])
    }

    private func label(in document: [String: Any]) throws -> [String: Any] {
        let schemas = try #require((document["components"] as? [String: Any])?["schemas"] as? [String: Any])
        var found: Any? = schemas["classification"]
        for key in ["properties", "classifications", "items", "properties", "label"] {
            found = (found as? [String: Any])?[key]
        }
        return try #require(found as? [String: Any])
    }

    @Test("the document of a taught model has its own routes, with the name percent-encoded, and no others")
    func routes_areTheModels() throws {
        let document = try document(["a"], name: "a b/{c}")
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        let name = "a%20b%2F%7Bc%7D"
        #expect(
            Set(paths.keys) == [
                "/v1/models/\(name)", "/v1/models/\(name)/versions/{version}", "/v1/models/\(name)/classify",
                "/v1/models/\(name)/versions/{version}/classify", "/v1/models/\(name)/openapi.json",
                "/v1/models/\(name)/drift",
                "/v1/taught/\(name)",
                "/v1/taught/\(name)/examples", "/v1/taught/\(name)/examples/{id}", "/v1/taught/\(name)/classes",
                "/v1/taught/\(name)/search", "/v1/taught/\(name)/export",
                "/v1/taught/\(name)/versions/{version}/serve",
            ])
        #expect(document["openapi"] as? String == "3.1.0")
        #expect((document["info"] as? [String: Any])?["title"] as? String == "a b/{c}")
        #expect(paths["/v1/models/\(name)/classify"]?["parameters"] == nil)
        #expect((paths["/v1/models/\(name)/versions/{version}/classify"]?["parameters"] as? [Any])?.count == 1)
    }

    @Test("labels are an enum, each once, up to 1,000 and 256 KiB; more are any text")
    func labels_areAnEnumUpToALimit() throws {
        #expect(try label(in: document(["b", "a", "b"]))["enum"] as? [String] == ["b", "a"])
        let many = (0..<1_000).map { "label \($0)" }
        #expect(try label(in: document(many))["enum"] as? [String] == many)
        #expect(try label(in: document(many + ["one more"]))["enum"] == nil)
        #expect(try label(in: document([String(repeating: "x", count: 256 << 10)]))["enum"] != nil)
        let long = try document([String(repeating: "x", count: (256 << 10) + 1)])
        #expect(try label(in: long)["enum"] == nil)
        #expect(try label(in: document([]))["enum"] == nil)
        #expect(try text((0..<100_000).map { "label \($0)" }).utf8.count < 100_000)
    }

    @Test("labels keep their characters, whatever they are")
    func hostileLabels_areEscaped() throws {
        let hostile = ["\"}],", "\\", "\u{0}\n\r\u{2028}", "$ref", "</script>", "\u{202E}", "e\u{301}", "\u{E9}"]
        #expect(try label(in: document(hostile))["enum"] as? [String] == hostile)
    }

    @Test("schemas of OpenAPI 3.0 become those of 3.1, and only those that a route refers to are there")
    func schemas_areThoseOf31() throws {
        let text = try text(["a"])
        for word in ["nullable", "\"binary\"", "exclusiveMinimum\":true", "predict_request", "infer_request"] {
            #expect(!text.contains(word), "\(word)")
        }
        #expect(text.contains(#""known":{"description":"#) && text.contains(#""type":["boolean","null"]"#))
    }
}
