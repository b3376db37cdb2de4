package import EngineAPI

/// Reads TensorFlow Lite's files for an engine that also reads them, except for some operators: those are removed from
/// the file and computed here. 8-bit weights are rewritten if the engine then computes in integers.
package struct TFLiteImporter {
    package let target: any ImportTarget
    package let source: ModelSource

    package init(target: any ImportTarget, source: ModelSource) {
        self.target = target
        self.source = source
    }

    /// The maximum number of suppressions, one after another; each splits a model into two.
    private static let maximumSuppressions = 8

    /// Reads a file with these bytes. Blocks.
    package func read(_ bytes: [UInt8]) throws(EngineError) -> any ModelFile {
        let detection = try TFLiteFile.detection(bytes)
        let split = try TFLiteFile.suppression(detection?.file ?? bytes)
        let cut = split?.front ?? detection?.file
        var file = try target.read(source) { (key) throws(EngineError) in try read(bytes, cut: cut, key: key) }
        if let split { file = try joined(file, split, left: Self.maximumSuppressions) }
        guard let detection else { return file }
        return try DetectionModelFile(file, detection: detection)
    }

    /// The model of a file that was split at its suppression. The second part may contain another one.
    private func joined(
        _ front: any ModelFile, _ split: SuppressionSplit, left: Int
    ) throws(EngineError) -> any ModelFile {
        guard let bytes = split.back else {
            return try SuppressionModelFile(front: front, back: nil, split: split)
        }
        guard left > 1 else {
            throw EngineError(
                kind: .invalidModel, operation: "read the model file",
                detail: "it has more than \(Self.maximumSuppressions) NON_MAX_SUPPRESSION operators")
        }
        let next = try TFLiteFile.suppression(bytes)
        var back = try readTemporary(next?.front ?? bytes, integerWeights: nil, key: nil)
        if let next { back = try joined(back, next, left: left - 1) }
        return try SuppressionModelFile(front: front, back: back, split: split)
    }

    /// Reads the file with the engine in the best form for it.
    /// - Parameter cut: the file without the operators that are computed here.
    private func read(_ bytes: [UInt8], cut: [UInt8]?, key: ExportKey?) throws(EngineError) -> any ModelFile {
        let rewritten = source.allowsIntegerWeights ? IntegerWeightsWriter.rewriting(cut ?? bytes) : nil
        var (reason, key) = (target.inexactIntegers, key)
        if let rewritten, reason == nil {
            do throws(EngineError) {
                return try readTemporary(rewritten.file, integerWeights: rewritten.report, key: key)
            } catch {
                // Read the unchanged file instead, and report its problems. No key, because the rewritten file may be
                // readable another time.
                (reason, key) = (error.message, nil)
            }
        }
        let unused = rewritten?.report.unused(because: reason ?? "")
        guard let cut else { return try target.readFile(source.path, integerWeights: unused, key: key) }
        return try readTemporary(cut, integerWeights: unused, key: key)
    }

    /// Writes a temporary file, because engines read these files only from disk.
    private func readTemporary(
        _ bytes: [UInt8], integerWeights: IntegerWeights?, key: ExportKey?
    ) throws(EngineError) -> any ModelFile {
        try TFLiteFile.withTemporaryFile(bytes) { (path) throws(EngineError) in
            try target.readFile(path, integerWeights: integerWeights, key: key)
        }
    }
}
