package import FileFormats

/// The file of a taught head, `taught.safetensors`, in the safetensors format: 8 bytes with the header's length, a
/// header in JSON, the numbers. It contains no identifiers of pictures.
package enum TaughtFile {
    /// The name of the file in a bundle.
    package static let name = "taught.safetensors"
    /// The value of `format` in the metadata.
    private static let format = "ocelli taught 1"
    /// The key of the share of false alarms in the metadata.
    private static let falseAlarms = "false_alarms"
    /// The keys of the length of an embedding, and of the rows and columns of the patches that are compared instead.
    private static let dimension = "dimension", rows = "patch_rows", columns = "patch_columns"

    // MARK: Writing

    package static func bytes(of head: TaughtClassifier) -> [UInt8] {
        if let normal = head.normal { return bytes(of: normal) }
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

    private static func bytes(of normal: NormalExamples) -> [UInt8] {
        let rows = normal.rows, scores = normal.leftOut?.scores ?? []
        var tensors = [NamedTensor("left_out", [scores.count], scores)]
        var metadata: [(name: String, text: String)] = [
            ("format", format), ("method", TeachingMethod.normal.rawValue),
            ("labels", TaughtClassifier.normalLabel), (falseAlarms, "\(normal.falseAlarms)"),
        ]
        if let patches = normal.patches {
            let grid = patches.grid
            tensors.append(
                NamedTensor("patches", [patches.count, grid.width], shorts: patches.pieces.flatMap(\.bytes)))
            metadata += [
                (dimension, "\(normal.dimension)"), (Self.rows, "\(grid.rows)"), (columns, "\(grid.columns)"),
            ]
        } else {
            tensors.append(NamedTensor("examples", [rows.count, normal.dimension], Array(rows.joined())))
        }
        return SafeTensorsFile.bytes(tensors.filter { !$0.bytes.isEmpty }, metadata: metadata)
    }

    // MARK: Reading

    /// Reads the head from a file.
    package static func head(_ bytes: [UInt8]) throws(FormatError) -> TaughtClassifier {
        let file = try SafeTensorsFile(bytes)
        guard file.metadata["format"] == format else {
            throw FormatError("is not a taught model: its metadata has no format \"\(format)\"")
        }
        let name = file.metadata["method"] ?? ""
        guard let method = TeachingMethod(rawValue: name), let labels = file.metadata["labels"] else {
            throw FormatError("has no labels, or the unknown method \"\(name.prefix(40))\"")
        }
        if method == .normal {
            guard labels == TaughtClassifier.normalLabel else {
                throw FormatError(
                    "has the labels \"\(labels.prefix(40))\": with the method normal there is only \"normal\"")
            }
            return TaughtClassifier(try normal(file, bytes))
        }
        let names = labels.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        try check(names)
        func words(_ name: String, _ type: String, _ shape: [Int?]) throws(FormatError) -> [UInt32] {
            try Self.words(of: name, type: type, shape: shape, in: file, bytes)
        }
        func floats(_ name: String, _ shape: [Int?]) throws(FormatError) -> [Float] {
            try words(name, "F32", shape).map { Float(bitPattern: $0) }
        }
        let center = try floats("center", [nil]), classes = names.count, dimension = center.count
        let head = TaughtClassifier(
            method: method, labels: names, dimension: dimension, center: center,
            means: try floats("means", [classes, dimension]), weights: try floats("weights", [classes, dimension]),
            intercepts: try floats("intercepts", [classes]), examples: try floats("examples", [nil, dimension]),
            exampleClasses: try words("example_classes", "I32", [nil]).map { Int(Int32(bitPattern: $0)) },
            threshold: try floats("threshold", [1]).first)
        guard let head else {
            throw FormatError("has tensors whose sizes do not fit each other, or numbers that are not finite")
        }
        return head
    }

    private static func normal(_ file: SafeTensorsFile, _ bytes: [UInt8]) throws(FormatError) -> NormalExamples {
        let text = file.metadata[falseAlarms] ?? ""
        guard let share = Double(text), MethodChoice.allowedFalseAlarms.contains(share) else {
            throw FormatError("has \"\(falseAlarms)\" of \"\(text.prefix(40))\": expected 0.0001 to 0.5")
        }
        if let tensor = try file.tensor("patches") { return try patches(tensor, share, file, bytes) }
        let numbers = try words(of: "examples", type: "F32", shape: [nil, nil], in: file, bytes)
        let extents = try file.tensor("examples")?.shape ?? []
        guard extents.count == 2, let dimension = extents.last, dimension > 0 else {
            throw FormatError("has no \"examples\"")
        }
        let rows = stride(from: 0, to: numbers.count, by: dimension).map { start in
            numbers[start..<start + dimension].map { Float(bitPattern: $0) }
        }
        let scores = try leftOut(file, bytes)
        guard var examples = NormalExamples(rows, dimension: dimension, falseAlarms: share),
            scores.isEmpty || scores.count == rows.count, scores.allSatisfy({ (0...2).contains($0) })
        else {
            throw FormatError("has tensors whose sizes do not fit each other, or numbers that are out of range")
        }
        // A single example has no scores to write.
        if !scores.isEmpty || rows.count == 1 { examples.leftOut = LeftOutScores(scores, falseAlarms: share) }
        return examples
    }

    private static func leftOut(_ file: SafeTensorsFile, _ bytes: [UInt8]) throws(FormatError) -> [Double] {
        let halves = try words(of: "left_out", type: "F64", shape: [nil], in: file, bytes)
        return stride(from: 0, to: halves.count, by: 2).map {
            Double(bitPattern: UInt64(halves[$0]) | UInt64(halves[$0 + 1]) << 32)
        }
    }

    /// The number of patches in a piece of a file's patches: threads share the pieces.
    private static let piece = 1_024

    /// Normal examples with patches. Without left-out scores there is no threshold, as with a single example.
    private static func patches(
        _ tensor: SafeTensorsFile.Tensor, _ share: Double, _ file: SafeTensorsFile, _ bytes: [UInt8]
    ) throws(FormatError) -> NormalExamples {
        func number(_ key: String) throws(FormatError) -> Int {
            let text = file.metadata[key] ?? ""
            guard let number = Int(text), number > 0 else {
                throw FormatError("has \"\(key)\" of \"\(text.prefix(40))\": expected a whole number from 1")
            }
            return number
        }
        let length = try number(dimension), rows = try number(Self.rows), columns = try number(Self.columns)
        guard tensor.typeName == "I16", tensor.shape.count == 2, let count = tensor.shape.first, count > 0,
            let grid = PatchGrid(rows: rows, columns: columns, width: tensor.shape[1]),
            count <= tensor.data.count / (2 * grid.width), count * grid.width * 2 == tensor.data.count,
            tensor.data.upperBound <= bytes.count
        else {
            throw FormatError(
                "has a tensor \"patches\" of the type \(tensor.typeName) and the shape \(tensor.shape): expected I16, [any, width]"
            )
        }
        let pieces = bytes.withUnsafeBytes { raw in
            stride(from: 0, to: count, by: piece).compactMap { first -> PatchVectors? in
                let number = min(piece, count - first), start = tensor.data.lowerBound + first * grid.width * 2
                return PatchVectors(
                    bytes: UnsafeRawBufferPointer(rebasing: raw[start..<start + number * grid.width * 2]),
                    count: number, width: grid.width)
            }
        }
        let scores = try leftOut(file, bytes)
        guard let patches = NormalPatches(pieces, grid: grid), scores.allSatisfy({ (0...2).contains($0) }) else {
            throw FormatError("has numbers that are out of range")
        }
        var normal = NormalExamples(patches, dimension: length, falseAlarms: share)
        normal.leftOut = LeftOutScores(scores, falseAlarms: share)
        return normal
    }

    /// Throws for labels that are not valid or repeated.
    private static func check(_ labels: [String]) throws(FormatError) {
        var seen: Set<String> = []
        for label in labels {
            do throws(TeachingError) { try TaughtNames.check(label: label) } catch {
                throw FormatError("has a label that cannot be one: \(error.message)")
            }
            guard seen.insert(label).inserted else { throw FormatError("has the label \"\(label)\" twice") }
        }
    }

    /// The values of a tensor, as words of 32 bits, two for a number of 64; empty if it is missing.
    /// - Parameter shape: the expected shape; nil for an axis of any extent.
    private static func words(
        of name: String, type: String, shape: [Int?], in file: SafeTensorsFile, _ bytes: [UInt8]
    ) throws(FormatError) -> [UInt32] {
        guard let tensor = try file.tensor(name) else { return [] }
        guard tensor.typeName == type else { throw FormatError("has a tensor \"\(name)\" that is not of type \(type)") }
        let fits = tensor.shape.count == shape.count && zip(tensor.shape, shape).allSatisfy { $1 == nil || $0 == $1 }
        guard fits else {
            let expected = shape.map { $0.map(String.init) ?? "any" }.joined(separator: ", ")
            throw FormatError("has a tensor \"\(name)\" of the shape \(tensor.shape): expected [\(expected)]")
        }
        var count = type == "F64" ? 8 : 4, isTooLarge = false
        for extent in tensor.shape where !isTooLarge {
            (count, isTooLarge) = count.multipliedReportingOverflow(by: extent)
        }
        guard !isTooLarge, count == tensor.data.count, tensor.data.upperBound <= bytes.count else {
            throw FormatError(
                "has \(tensor.data.count) bytes in \"\(name)\", which do not fit its shape \(tensor.shape)")
        }
        return bytes.withUnsafeBytes { raw in
            stride(from: tensor.data.lowerBound, to: tensor.data.upperBound, by: 4).map {
                UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: $0, as: UInt32.self))
            }
        }
    }
}
