import CoreMLReferee
import FileFormats
import Foundation
import TestSupport
import Testing

/// A Core ML file of the tests, with the outputs of another program (Tests/Fixtures/coreml/README.md).
struct RefereeFile: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]

    var testDescription: String { name }

    static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml/classical")

    init(_ name: String) throws {
        self.name = name
        bytes = [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent("\(name).mlmodel")))
    }

    init(name: String, bytes: [UInt8]) { (self.name, self.bytes) = (name, bytes) }

    /// All fixtures of classical models. Those of suppression are not judged.
    static let all: [RefereeFile] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".mlmodel") && !$0.hasPrefix("suppression") }.sorted().compactMap {
            try? RefereeFile(String($0.dropLast(8)))
        }
    }()

    var referee: CoreMLReferee { get throws { try CoreMLReferee(ByteSource(bytes)) } }

    /// The cases of the fixture, and its tolerance.
    func cases() throws -> (cases: [(inputs: [String: Any], outputs: [String: Any])], tolerance: Double) {
        let data = try Data(contentsOf: Self.folder.appendingPathComponent("\(name).json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let cases = try #require(record["cases"] as? [[String: [String: Any]]])
        return (
            try cases.map { (try #require($0["inputs"]), try #require($0["outputs"])) },
            try #require(record["tolerance"] as? Double)
        )
    }
}

extension RefereeValue {
    /// A value of the fixtures as the type of an input.
    init(_ value: Any, _ kind: RefereeFeature.Kind) throws {
        switch kind {
        case .double: self = .number(Number(try #require(value as? Double)))
        case .int64: self = .integer(try #require((value as? NSNumber)?.int64Value))
        case .string: self.init(try #require(value as? String))
        case .array: self = .array(Self.flat(value).map { Number($0) })
        case .dictionary(let hasIntegerKeys):
            let entries = try #require(value as? [String: Double]).sorted { $0.key < $1.key }
            self = .dictionary(
                keys: try entries.map { hasIntegerKeys ? .integer(try #require(Int64($0.key))) : Key($0.key) },
                values: entries.map { Number($0.value) })
        case .other(let name):
            Issue.record("a feature of type \(name)")
            self = .unjudged(name)
        }
    }

    /// The numbers of nested lists in their order.
    static func flat(_ value: Any) -> [Double] {
        (value as? Double).map { [$0] } ?? (value as? [Any])?.flatMap(flat) ?? []
    }
}
