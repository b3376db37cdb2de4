internal import FoundationEssentials
internal import Glibc
internal import SystemSupport

/// Obtains the reference answers of one model file: from the cache, where the key is the file's digest, or from a model
/// that is compiled for one stream and released again.
struct ReferenceSource: Sendable {
    let engine: any Engine
    let source: ModelSource
    let options: CompileOptions
    let plan: ModelPlan
    /// The path in the cache; nil if caching is disabled, or the digest of all files of the model is not available.
    private let path: String?

    /// A source for one model file. Blocks: may read the model's files.
    init(_ file: any ModelFile, engine: any Engine, source: ModelSource, options: CompileOptions, plan: ModelPlan) {
        var options = options
        options.streams = 1
        // Compiled from the file itself, so that an error in the cache cannot affect the reference.
        options.cacheDirectory = nil
        // Extents for open axes are checked on it.
        options.keepsModel = !plan.hasZeros
        options.inputShapes = plan.inputShapes
        self.engine = engine
        self.source = source
        self.options = options
        self.plan = plan
        path = Self.path(file, engine: engine, source: source, options: options)
    }

    private static func path(
        _ file: any ModelFile, engine: any Engine, source: ModelSource, options: CompileOptions
    ) -> String? {
        guard let folder = source.cacheFolder else { return nil }
        let digest =
            file.digest
            ?? ExportKey(
                path: source.path, folder: folder,
                circumstances: "\(OcelliVersion.number)\n\(engine.version)\n\(source.allowsIntegerWeights)")?.name
        guard let digest else { return nil }
        let shapes = options.inputShapes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        var hash = ContentHash()
        hash.add(
            "\(options.device) \(options.precision.rawValue) \(shapes) \(Processor.instructions) "
                + (ByteProducts.reasonWithoutVNNI ?? ""))
        return "\(folder)/\(digest)-\(hash.text.prefix(16))\(CompiledModelCache.answers)"
    }

    /// The answers from the cache; nil if the cache does not contain them.
    func cached() -> ReferenceAnswers? {
        guard let path, case .success(let data) = BundleFile.read(path, maximum: 8 << 20) else { return nil }
        return try? JSONDecoder().decode(ReferenceAnswers.self, from: data)
    }

    /// Compiles the model for one stream, runs it, and stores its answers in the cache. Blocks.
    func computed() throws(EngineError) -> ReferenceAnswers {
        let compiled = try engine.read(source).compile(options)
        let answers = try AnswerProbe(plan: plan, compiled: compiled).reference()
        keep(answers)
        return answers
    }

    /// Writes the answers to the cache. Errors are ignored.
    func keep(_ answers: ReferenceAnswers) {
        let encoder = JSONEncoder()
        // Equal answers must produce equal files, because images are built reproducibly.
        encoder.outputFormatting = .sortedKeys
        guard let path, let data = try? encoder.encode(answers) else { return }
        try? data.write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}

extension CompileOptions {
    /// True if the engine may run several predictions at a time, each on its own stream.
    var runsSeveralStreams: Bool { streams.map { $0 > 1 } ?? (hint != .latency) }
}
