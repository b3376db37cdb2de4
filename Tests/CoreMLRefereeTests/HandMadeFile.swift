import CoreMLReferee
import FileFormats

/// Files of the tests' own, written field by field (Model.proto and its parts).
enum HandMadeFile {
    static func varint(_ value: UInt64) -> [UInt8] {
        var value = value
        var bytes: [UInt8] = []
        while value >= 128 {
            bytes.append(UInt8(value & 127) | 128)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }

    static func field(_ number: Int, _ value: Int) -> [UInt8] {
        varint(UInt64(number) << 3) + varint(UInt64(bitPattern: Int64(value)))
    }
    static func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
        varint(UInt64(number) << 3 | 2) + varint(UInt64(bytes.count)) + bytes
    }
    static func field(_ number: Int, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }
    static func field(_ number: Int, _ value: Double) -> [UInt8] {
        varint(UInt64(number) << 3 | 1) + withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) }
    }

    /// The types of features (FeatureType).
    static let int64 = field(1, []), double = field(2, []), string = field(3, [])
    static let classes = field(6, field(2, []))
    static func array(_ shape: [Int]) -> [UInt8] { field(5, shape.flatMap { field(1, $0) } + field(2, 65_600)) }

    static func feature(_ name: String, _ type: [UInt8]) -> [UInt8] { field(1, name) + field(3, type) }

    /// A whole model: `body` is the message of its type.
    static func model(
        inputs: [(String, [UInt8])], outputs: [(String, [UInt8])], predicted: String = "", probabilities: String = "",
        type: Int, _ body: [UInt8]
    ) -> [UInt8] {
        let description =
            inputs.flatMap { field(1, feature($0.0, $0.1)) } + outputs.flatMap { field(10, feature($0.0, $0.1)) }
            + field(11, predicted) + field(12, probabilities)
        return field(1, 4) + field(2, description) + field(type, body)
    }

    /// A regressor of one number with the nodes: node, behavior (6: a leaf with the node's number as value), true
    /// child, false child; all thresholds are 0.
    static func tree(_ nodes: [(Int, Int, Int, Int)], missingGoesToTrue: Bool = false) -> [UInt8] {
        let list = nodes.flatMap { node -> [UInt8] in
            let leaf = field(20, field(2, Double(node.0)))
            let rest = node.1 == 6 ? leaf : field(14, missingGoesToTrue ? 1 : 0)
            return field(1, field(2, node.0) + field(3, node.1) + field(12, node.2) + field(13, node.3) + rest)
        }
        return model(
            inputs: [("x", double)], outputs: [("y", double)], predicted: "y", type: 302,
            field(1, list + field(2, 1)))
    }

    /// Neighbors of one number with the labels "a", "b", ...
    static func neighbors(_ samples: [Float], count: Int, weighsByDistance: Bool = false) -> [UInt8] {
        let rows = samples.flatMap { sample in
            field(2, field(1, withUnsafeBytes(of: sample.bitPattern.littleEndian) { Array($0) }))
        }
        let labels = samples.indices.flatMap { field(1, String(UnicodeScalar(UInt8(97 + $0)))) }
        return model(
            inputs: [("x", array([1]))], outputs: [("class", string), ("p", classes)], predicted: "class",
            probabilities: "p", type: 404,
            field(1, field(1, 1) + rows) + field(3, field(1, count)) + field(100, labels)
                + field(weighsByDistance ? 210 : 200, []))
    }
}

extension CoreMLReferee {
    /// The referee of a file's bytes.
    init(_ bytes: [UInt8]) throws(ImpossibleJudgment) { try self.init(ByteSource(bytes)) }

    /// The outputs for one number.
    func callAsFunction(_ x: Double) throws(RowProblem) -> RefereeRow {
        try evaluate(["x": inputs.first?.kind == .double ? .number(Number(x)) : .array([Number(x)])])
    }
}
