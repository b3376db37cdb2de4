/// A model file among several of a repository or folder, of which one is served.
package struct ModelCandidate: Sendable, Hashable {
    package let format: ModelFormat
    /// The path relative to the repository or folder.
    package let path: String
    /// The last name without its ending, in lower case; a SavedModel's is `saved_model`.
    package let stem: String

    package init(format: ModelFormat, path: String, stem: String) {
        self.format = format
        self.path = path
        self.stem = stem
    }

    /// Files with the ending of a model that are not models: of tokenizers, and those that Keras adds to a SavedModel.
    private static let others = [
        "openvino_tokenizer.xml", "openvino_detokenizer.xml", "fingerprint.pb", "keras_metadata.pb",
    ]

    /// A model file; nil if the name is not that of one.
    package init?(file path: String) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard let format = ModelFormat(file: name), !Self.others.contains(name.lowercased()) else { return nil }
        let ending = format.fileEndings.first { name.hasEnding($0) } ?? ""
        self.init(format: format, path: path, stem: name.dropLast(ending.count).lowercased())
    }

    /// True if the name says that the model takes text: `text_model`, and its variants.
    package var isForText: Bool { Self.text.contains { stem == $0 || Self.isVariant(stem, of: $0) } }

    private static let text = ["text_model", "text_encoder"], vision = ["vision_model", "vision_encoder"]

    // MARK: The rule

    /// Formats in the order of preference, if one model exists in several.
    private static let order: [ModelFormat] = [.onnx, .openvino, .tflite, .coreml, .tensorflow, .paddle]

    /// The model without a suffix; several if none stands out.
    package static func usual(among all: [ModelCandidate]) -> [ModelCandidate] {
        let plain = all.filter { one in
            !all.contains { other in
                other != one && other.format == one.format
                    && (isVariant(one.stem, of: other.stem) || other.stem == one.stem && other.depth < one.depth)
            }
        }
        guard let format = order.first(where: { format in plain.contains { $0.format == format } }) else {
            return plain
        }
        let preferred = plain.filter { $0.format == format }
        // Another format is another form of the same model only if its name says so.
        let others = plain.filter { $0.format != format }
        guard preferred.count == 1, let first = preferred.first,
            others.allSatisfy({ $0.isUsual || bare($0.stem) == bare(first.stem) })
        else { return plain }
        return preferred
    }

    /// The models that take pictures: without those for text, and without `model` with both halves next to the half for
    /// pictures (CLIP, SigLIP). All, if none is left.
    package static func forPictures(among all: [ModelCandidate]) -> [ModelCandidate] {
        let left = all.filter { !$0.isForText }
        let halves = left.filter { one in vision.contains { one.stem == $0 || isVariant(one.stem, of: $0) } }
        let pictures = halves.isEmpty ? left : halves
        return pictures.isEmpty ? all : pictures
    }

    private var depth: Int { path.utf8.count { $0 == UInt8(ascii: "/") } }

    /// True for `model_int8` of `model`.
    private static func isVariant(_ stem: String, of other: String) -> Bool {
        guard stem.hasPrefix(other), let next = stem.dropFirst(other.count).first else { return false }
        return "_-.".contains(next)
    }

    /// The stem without an exporter's prefix: `openvino_model` is a `model`.
    private static func bare(_ stem: String) -> String {
        ["openvino_", "tf_", "ov_"].first(where: stem.hasPrefix).map { String(stem.dropFirst($0.count)) } ?? stem
    }

    /// True for the names that exporters give to any model: `model`, and a SavedModel's.
    package var isUsual: Bool { ["model", "saved_model"].contains(Self.bare(stem)) }
}
