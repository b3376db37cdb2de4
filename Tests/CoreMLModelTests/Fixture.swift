import CoreMLImport
import Foundation
import TestSupport
import Testing

/// A Core ML file of Tests/Fixtures/coreml with inputs and another program's outputs: see the README there.
struct Fixture: CustomTestStringConvertible, Sendable {
    let url: URL
    let cases: Cases

    struct Cases: Decodable, Sendable {
        /// The layers, operations or model types that the file covers.
        var covers: [String]
        /// The program that computed the outputs.
        var oracle: String
        var tolerance: Double
        var cases: [Case]
    }

    struct Case: Decodable, Sendable {
        var inputs: [String: Value]
        var outputs: [String: Value]
    }

    /// An array with its shape, or a JSON value: a number, a string, a dictionary.
    enum Value: Decodable, Sendable {
        case array(shape: [Int], values: [Double])
        case number(Double)
        case text(String)
        case dictionary([String: Double])
        /// A form that only the tests of another family use.
        case other

        private struct Array: Decodable {
            var shape: [Int]
            var values: [Double]
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let array = try? container.decode(Array.self) {
                self = .array(shape: array.shape, values: array.values)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let dictionary = try? container.decode([String: Double].self) {
                self = .dictionary(dictionary)
            } else {
                self = .other
            }
        }
    }

    var testDescription: String { "\(url.deletingLastPathComponent().lastPathComponent)/\(url.lastPathComponent)" }

    /// The root folder of the fixtures.
    static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml")

    /// All fixtures in a folder, by name.
    static func all(in name: String) -> [Fixture] {
        let folder = folder.appendingPathComponent(name)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().filter { $0.hasSuffix(".mlmodel") || $0.hasSuffix(".mlpackage") }.map { name in
            let url = folder.appendingPathComponent(name)
            let json = url.deletingPathExtension().appendingPathExtension("json")
            do {
                return Fixture(url: url, cases: try JSONDecoder().decode(Cases.self, from: Data(contentsOf: json)))
            } catch {
                preconditionFailure("\(json.path): \(error)")
            }
        }
    }

    /// The bytes of an .mlmodel.
    func bytes() throws -> Bytes { Bytes(try [UInt8](Data(contentsOf: url))) }
}

extension [String: Fixture.Value] {
    /// The arrays among the values; a number becomes an array of one element.
    var arrays: [String: GraphRunner.Array] {
        compactMapValues { value in
            switch value {
            case .array(let shape, let values): GraphRunner.Array(shape: shape, values: values)
            case .number(let number): GraphRunner.Array(shape: [1], values: [number])
            case .text, .dictionary, .other: nil
            }
        }
    }
}

/// The largest difference of two lists, relative to the larger number, or to 1 if both are smaller; infinite if the
/// lengths differ, or a number has NaN as its counterpart.
func difference(_ one: [Double], _ other: [Double]) -> Double {
    guard one.count == other.count else { return .infinity }
    return zip(one, other).map { left, right in
        if left == right || left.isNaN && right.isNaN { return 0 }
        let error = abs(left - right) / max(1, abs(left), abs(right))
        return error.isNaN ? .infinity : error
    }.max() ?? 0
}
