package import FileFormats

/// A taught head as a file in the safetensors format, `taught.safetensors`: 8 bytes with the header's length, a header in JSON, the numbers.
/// It holds no ids of pictures.
package enum TaughtFile {
    /// The file's name in a bundle.
    package static let name = "taught.safetensors"
    /// The value of `format` in its metadata.
    private static let format = "ocelli taught 1"

    // MARK: Writing

    package static func bytes(of head: TaughtHead) -> [UInt8] {
        let count = head.labels.count, dimension = head.dimension, examples = head.exampleClasses.count
        let tensors = [
            NamedTensor("center", [dimension], head.center), NamedTensor("means", [count, dimension], head.means),
            NamedTensor("weights", [count, dimension], head.weights),
            NamedTensor("intercepts", [count], head.intercepts),
            NamedTensor("examples", [examples, dimension], head.examples),
            NamedTensor("example_classes", [examples], head.exampleClasses.map { Int32(clamping: $0) }),
            NamedTensor("threshold", [1], head.threshold.map { [$0] } ?? []),
        ]
        return SafeTensorsFile.bytes(
            tensors.filter { !$0.bytes.isEmpty },
            metadata: [
                ("format", format), ("method", head.method.rawValue), ("labels", head.labels.joined(separator: "\n")),
            ])
    }

    // MARK: Reading

    /// The head of a file.
    package static func head(_ bytes: [UInt8]) throws(FormatError) -> TaughtHead {
        let file = try SafeTensorsFile(bytes)
        guard file.metadata["format"] == format else {
            throw FormatError("is not a taught model: its metadata has no format \"\(format)\"")
        }
        let name = file.metadata["method"] ?? ""
        guard let method = TeachingMethod(rawValue: name), let labels = file.metadata["labels"] else {
            throw FormatError("has no labels, or the unknown method \"\(name.prefix(40))\"")
        }
        func floats(_ name: String) throws(FormatError) -> [Float] {
            try words(of: name, type: "F32", in: file, bytes).map { Float(bitPattern: $0) }
        }
        let center = try floats("center")
        let head = TaughtHead(
            method: method, labels: labels.split(separator: "\n", omittingEmptySubsequences: false).map(String.init),
            dimension: center.count, center: center, means: try floats("means"), weights: try floats("weights"),
            intercepts: try floats("intercepts"), examples: try floats("examples"),
            exampleClasses: try words(of: "example_classes", type: "I32", in: file, bytes).map {
                Int(Int32(bitPattern: $0))
            },
            threshold: try floats("threshold").first)
        guard let head else {
            throw FormatError("has tensors whose sizes do not fit each other, or numbers that are not finite")
        }
        return head
    }

    /// The numbers of a tensor, as bits; none where it is missing.
    private static func words(
        of name: String, type: String, in file: SafeTensorsFile, _ bytes: [UInt8]
    ) throws(FormatError) -> [UInt32] {
        guard let tensor = try file.tensor(name) else { return [] }
        guard tensor.typeName == type, tensor.data.count % 4 == 0 else {
            throw FormatError("has a tensor \"\(name)\" that is not of type \(type)")
        }
        return stride(from: tensor.data.lowerBound, to: tensor.data.upperBound, by: 4).map { place in
            (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[place + $1]) << (8 * UInt32($1)) }
        }
    }
}
