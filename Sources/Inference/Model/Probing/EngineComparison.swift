internal import FileFormats
internal import Glibc
internal import SystemSupport

/// Compares the answers of two engines for an ONNX file, because the first one computes some converted operators
/// wrongly without reporting an error.
///
/// Both run on synthetic inputs; open axes get made-up extents. Answers of different shape are wrong. Values are wrong
/// if they differ by more than a thousandth of the output's range. If the file computes in 8-bit integers, whose
/// kernels legitimately differ by steps, they are wrong if their directions differ (a cosine below 0.99).
struct EngineComparison {
    let opened: OpenedModel
    let question: EngineQuestion
    let source: ModelSource
    let plan: ModelPlan
    /// The time in which each engine starts inferences with open axes.
    let time: Duration
    private let options: CompileOptions
    /// True if the file rounds intermediate values to 8-bit integers.
    let computesInIntegers: Bool

    /// The fraction of an output's range that is due to rounding.
    private static let tolerance: Float = 1e-3
    private static let minimumCosine: Float = 0.99

    /// The result of the comparison, with the shapes of the inputs at which the engines were compared.
    enum Outcome {
        case same(shapes: [String])
        /// The error of the first engine, as the end of a sentence.
        case wrong(String, shapes: [String])
        /// The answers cannot be compared, for this reason; no error of the first engine is known.
        case incomparable(String)
        /// The answers could not be compared this time.
        case unknown(String)
    }

    init(
        opened: OpenedModel, question: EngineQuestion, source: ModelSource, plan: ModelPlan, options: CompileOptions,
        time: Duration
    ) {
        self.opened = opened
        self.question = question
        self.source = source
        self.plan = plan
        self.time = time
        var options = options
        // Uses full precision, regardless of the configuration: the rounding of lower precisions exceeds the tolerance
        // of this comparison.
        options.precision = .float32
        // The comparison does not depend on the device either, and the other engine may lack it.
        options.device = "CPU"
        options.inputShapes = plan.inputShapes
        self.options = options
        computesInIntegers = Self.computesInIntegers(source.path)
    }

    /// Compiles the model for both engines, one after the other, and runs it. Blocks.
    func outcome() -> Outcome {
        guard plan.inputs.allSatisfy({ $0.description.elementType != .string }) else {
            return .incomparable("an input is a string")
        }
        return plan.hasZeros ? outcomeOfFixedShapes() : outcomeOfOpenAxes()
    }

    /// The options for one engine: with one stream, and compiled from the file itself.
    var optionsOfOneStream: CompileOptions {
        var options = options
        options.streams = 1
        options.cacheDirectory = nil
        return options
    }

    private func outcomeOfFixedShapes() -> Outcome {
        let ours = Result { () throws(EngineError) in
            let reference = ReferenceSource(
                opened.file, engine: opened.engine, source: source, options: options, plan: plan)
            return if let cached = reference.cached() { cached } else { try reference.computed() }
        }
        if case .failure(let error) = ours, error.kind == .noThreads { return .unknown(error.message) }
        let shapes = plan.inputs.isEmpty ? [] : [text(of: [:])]
        do throws(EngineError) {
            let file = try question.other.read(source)
            guard hasSamePorts(file) else { return .incomparable("the engines see other inputs or outputs") }
            let theirs = try AnswerProbe(plan: plan, compiled: try file.compile(optionsOfOneStream)).reference()
            switch ours {
            case .failure(let error): return .wrong("cannot run it: \(error.detail)", shapes: shapes)
            case .success(let ours):
                guard !ours.isRandom, !theirs.isRandom else { return .incomparable(Self.random) }
                for pattern in ProbePattern.usual {
                    // A slow model runs on the picture pattern only.
                    guard let a = ours.answers[pattern], let b = theirs.answers[pattern] else { continue }
                    if let difference = difference(a, b) {
                        return .wrong("computes it wrongly: \(difference) for \(pattern.words)", shapes: shapes)
                    }
                }
                return .same(shapes: shapes)
            }
        } catch {
            return .unknown("\(question.other.version): \(error.detail)")
        }
    }

    /// The reason that a model with random answers is not compared.
    static let random = "the same input gives different answers"

    /// The shapes of the inputs in words: open axes have these extents, by the index of the input.
    func text(of shapes: [Int: Shape]) -> String {
        let all = plan.inputs.map { ($0.description.name, shapes[$0.index] ?? $0.description.shape) }
        return all.count == 1 ? "\(all[0].1)" : all.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// True if the other engine has the same inputs and outputs. The ranks of outputs are compared when it runs.
    func hasSamePorts(_ file: any ModelFile) -> Bool {
        opened.file.inputs.map(\.elementType) == file.inputs.map(\.elementType)
            && opened.file.inputs.map(\.shape.dimensions.count) == file.inputs.map(\.shape.dimensions.count)
            && opened.file.outputs.map(\.elementType) == file.outputs.map(\.elementType)
    }

    /// The difference of an answer of the first engine from that of the other one; nil if they agree.
    func difference(_ ours: [ReferenceAnswers.Output], _ theirs: [ReferenceAnswers.Output]) -> String? {
        let outputs = plan.outputs.filter { if case .feature = $0.kind { false } else { true } }
        guard ours.count == theirs.count, ours.count == outputs.count else {
            return "\(ours.count) outputs instead of \(theirs.count)"
        }
        let answers = zip(outputs, zip(ours, theirs))
        for (output, (a, b)) in answers where a.shape != b.shape {
            return "output \"\(output.description.name)\" has shape \(Shape(a.shape)) instead of \(Shape(b.shape))"
        }
        for (output, (a, b)) in answers {
            let type = output.description.elementType
            let found =
                computesInIntegers || !type.isFloatingPoint
                ? cosineDifference(a, b)
                : a.difference(from: b, type: type) { Self.tolerance * Self.extent(of: $0) }
                    .map { "\($0.0) instead of \($0.1)" }
            if let found { return "output \"\(output.description.name)\" has \(found)" }
        }
        return nil
    }

    /// The range of some values; at least a hundredth of the largest magnitude, because nearly equal values differ
    /// only by rounding. A single value has no range: its magnitude.
    private static func extent(of values: [Float]) -> Float {
        let finite = values.filter(\.isFinite)
        guard let minimum = finite.min(), let maximum = finite.max() else { return 0 }
        let largest = max(abs(minimum), abs(maximum))
        return max(maximum - minimum, values.count == 1 ? largest : largest / 100)
    }

    /// Unlike `Agreement.cosine`, leaves out numbers that are not finite.
    private func cosineDifference(_ a: ReferenceAnswers.Output, _ b: ReferenceAnswers.Output) -> String? {
        var product: Double = 0, ofA: Double = 0, ofB: Double = 0
        for (x, y) in zip(a.floats, b.floats) where x.isFinite && y.isFinite {
            product += Double(x) * Double(y)
            ofA += Double(x) * Double(x)
            ofB += Double(y) * Double(y)
        }
        guard ofA > 0, ofB > 0 else { return ofA == ofB ? nil : "only zeros in one of the engines" }
        let cosine = Float(product / (ofA.squareRoot() * ofB.squareRoot()))
        return cosine < Self.minimumCosine
            ? "values of another direction (cosine \((cosine * 1000).rounded() / 1000))" : nil
    }

    private static func computesInIntegers(_ path: String) -> Bool {
        guard let file = try? OpenFile(path) else { return false }
        var found = false
        try? ONNXGraph.nodes(ByteSource(count: file.size) { file.bytes($0) }) { node in
            let name = node.operation
            found =
                found || name.hasPrefix("QLinear") || name.hasPrefix("QGemm") || name == "QuantizeLinear"
                || name == "DynamicQuantizeLinear" || name == "ConvInteger" || name.hasPrefix("MatMulInteger")
        }
        return found
    }
}
