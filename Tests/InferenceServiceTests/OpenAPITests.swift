import Foundation
import HTTPWire
import InferenceService
internal import ServiceCore
import TestSupport
import Testing
internal import WireFormats

/// The OpenAPI document has the paths of the table of routes, and the operations of openapi.json.
@Suite struct OpenAPITests {
    private let document: [String: Any]

    init() throws {
        document = try #require(
            try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.text(Service.routes.documented).utf8))
                as? [String: Any])
    }

    @Test("the OpenAPI document has the paths and methods of the route table")
    func paths_areThoseOfTheTable() throws {
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        let expected = Service.routes.resources.filter { $0.dialect == nil }.flatMap { resource in
            resource.templates.map { ($0.text, Set(resource.methods.map { $0.method.rawValue.lowercased() })) }
        }
        #expect(
            paths.mapValues { Set($0.keys).subtracting(["parameters"]) } == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test("every OpenAPI operation has a unique identifier, a summary, a success and a default answer")
    func operations_haveAnIdentifierASummaryAndAnswers() throws {
        var identifiers: [String] = []
        for (path, item) in try #require(document["paths"] as? [String: [String: Any]]) {
            for case let operation as [String: Any] in item.values {
                identifiers.append(try #require(operation["operationId"] as? String, "\(path)"))
                let summary = try #require(operation["summary"] as? String, "\(path)")
                #expect(!summary.contains("{"), "\(path)")
                let responses = try #require(operation["responses"] as? [String: Any], "\(path)")
                #expect(responses["default"] != nil && responses.keys.contains { $0.hasPrefix("2") }, "\(path)")
            }
        }
        #expect(Set(identifiers).count == identifiers.count)
    }

    @Test("every operation of openapi.json is used by a route and has an identifier for each path")
    func everyOperationOfTheFile_isUsedWithAnIdentifierForEachPath() throws {
        let file = SharedData.packageRoot.appendingPathComponent("Sources/ServiceCore/OpenAPI/openapi.json")
        let described = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        let operations = try #require(described["operations"] as? [String: [String: Any]])
        var used: [String: Int] = [:]
        for resource in Service.routes.resources where resource.dialect == nil {
            for method in resource.methods { used[method.operation] = resource.templates.count }
        }
        #expect(operations.mapValues { ($0["ids"] as? [String])?.count } == used)
    }

    @Test("the OpenAPI document contains the program's error codes and version")
    func listsOfTheProgram_areFilledIn() throws {
        let schemas = try #require((document["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]])
        #expect(schemas["error_code"]?["enum"] as? [String] == ErrorCode.allCases.map(\.rawValue))
        #expect((document["info"] as? [String: Any])?["version"] as? String != "")
        #expect(document["operations"] == nil)
    }
}
