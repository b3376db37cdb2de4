internal import FileFormats
internal import FoundationEssentials
internal import Glibc

/// The sides of a model for pictures and texts that are one file, each as a file of its own, and the part that makes
/// logits of their vectors. They exist in a temporary folder during the load.
final class WordsCuts: Sendable {
    /// The files of the sides.
    let files: [WordsPart: String]
    /// The file of the part that makes logits; nil if the graph has no such part.
    private let logits: String?
    private let folder: String

    /// The outputs that are vectors: first those that logits are made of.
    private static let vectors = (texts: "text_embeds", pictures: "image_embeds")
    private static let logitsOutput = "logits_per_image"

    /// Writes the files. Nil if each side has its own file. Blocks.
    init?(_ bundle: ModelBundle, _ words: WordsDescription) throws(InferenceError) {
        guard case .whole(let name) = words.layout else { return nil }
        func problem(_ reason: String) -> InferenceError {
            .invalidBundle(name: bundle.name, problems: [BundleProblem(path: name, reason: reason)])
        }
        var template = Array((TemporaryFolder.place + "/ocelli-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw problem("cannot be divided: no temporary folder: \(String(cString: strerror(errno)))")
        }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        do throws(FormatError) {
            let path = bundle.path + "/" + name
            let outputs = try ONNXCut.outputs(of: path)
            var files: [WordsPart: String] = [:]
            for part in WordsPart.allCases {
                guard let output = words.output(of: part, among: outputs) else {
                    throw FormatError("has no output with the vectors of \(part.rawValue); it has \(outputs.listed)")
                }
                let cut = try ONNXCut(path, outputs: [output])
                let foreign = cut.inputs.filter { (part == .texts) != words.isTextInput($0) }
                guard foreign.isEmpty else {
                    throw FormatError("makes \"\(output)\" of \(foreign.listed), too: the sides cannot be divided")
                }
                files[part] = try Self.write(cut, folder + "/" + part.rawValue)
            }
            let wanted = [Self.vectors.texts, Self.vectors.pictures]
            let cut = try? ONNXCut(path, outputs: [Self.logitsOutput], from: wanted)
            logits = try cut.flatMap { (cut) throws(FormatError) in
                cut.inputs.isEmpty ? try Self.write(cut, folder + "/logits") : nil
            }
            self.files = files
            self.folder = folder
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw problem(error.reason)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private static func write(_ cut: ONNXCut, _ folder: String) throws(FormatError) -> String {
        let path = folder + "/model.onnx"
        guard mkdir(folder, 0o700) == 0 else {
            throw FormatError("cannot be divided: \(String(cString: strerror(errno)))")
        }
        do throws(FileFailure) {
            try cut.write(to: path)
        } catch {
            throw FormatError("cannot be divided: \(error.reason)")
        }
        return path
    }

    /// The factor and the number with which the file makes logits of cosines: it runs the part that does so on vectors
    /// with the cosines 1, 0 and -1. Nil if there is no such part, or if it computes something else.
    func scale(dimension: Int, _ configuration: ModelConfiguration) async throws(InferenceError) -> (Double?, Double?)?
    {
        guard let logits, dimension > 1 else { return nil }
        var configuration = configuration
        configuration.loadCheck = nil
        configuration.comparesGoldens = false
        // The file lies in the temporary folder, outside of the model folders.
        configuration.links = .anywhere
        let model = try await Model.load(contentsOf: logits, configuration: configuration)
        func vectors(_ rows: [[Float]]) throws(InferenceError) -> FeatureValue {
            let numbers = rows.flatMap { $0 + [Float](repeating: 0, count: dimension - $0.count) }
            return .multiArray(try MultiArray(shape: Shape([rows.count, dimension]), floats: numbers))
        }
        let features = DictionaryFeatureProvider([
            (Self.vectors.texts, try vectors([[1, 0], [0, 1], [-1, 0]])),
            (Self.vectors.pictures, try vectors([[1, 0]])),
        ])
        let made = try await model.prediction(from: features, options: PredictionOptions(), slot: nil)
        guard case .multiArray(let array)? = made.featureValue(for: Self.logitsOutput), array.count == 3 else {
            return nil
        }
        let found = array.doubles, scale = (found[0] - found[2]) / 2, bias = found[1]
        guard scale.isFinite, scale > 0, abs(found[0] - scale - bias) <= 1e-3 * max(1, abs(found[0])) else {
            return nil
        }
        return (scale, bias)
    }
}
