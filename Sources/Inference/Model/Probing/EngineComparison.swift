internal import FileFormats
internal import Glibc
internal import SystemSupport

/// Compares the answers of two engines for an ONNX file, because the first one computes some converted operators
/// wrongly without reporting an error.
///
/// Both run on the synthetic inputs on which streams are compared. Values are wrong if they differ by more than a
/// thousandth of the output's range. If the file computes in 8-bit integers, whose kernels legitimately differ by
/// steps, they are wrong if their directions differ (a cosine below 0.99).
struct EngineComparison {
    let opened: OpenedModel
    let question: EngineQuestion
    let source: ModelSource
    let plan: ModelPlan
    let options: CompileOptions

    /// The fraction of an output's range that is due to rounding.
    private static let tolerance: Float = 1e-3
    private static let minimumCosine: Float = 0.99

    /// The result of the comparison.
    enum Outcome {
        case same
        /// The error of the first engine, as the end of a sentence.
        case wrong(String)
        /// The answers could not be compared, for this reason; no error of the first engine is known.
        case unknown(String)
    }

    /// Compiles the model for both engines, one after the other, and runs it. Blocks.
    func outcome() -> Outcome {
        guard plan.hasRowZeros else { return .unknown("an input is a string, or its shape is open") }
        var options = options
        // Uses full precision, regardless of the configuration: the rounding of lower precisions exceeds the tolerance
        // of this comparison.
        options.precision = .float32
        // The comparison does not depend on the device either, and the other engine may lack it.
        options.device = "CPU"
        options.inputShapes = plan.inputShapes
        let ours: ReferenceAnswers
        do throws(EngineError) {
            let reference = ReferenceSource(
                opened.file, engine: opened.engine, source: source, options: options, plan: plan)
            if let cached = reference.cached() { ours = cached } else { ours = try reference.computed() }
        } catch {
            return error.kind == .noThreads ? .unknown(error.message) : .wrong("cannot run it: \(error.detail)")
        }
        do throws(EngineError) {
            let file = try question.other.read(source)
            guard Self.haveSameTypes(opened.file.inputs, file.inputs),
                Self.haveSameTypes(opened.file.outputs, file.outputs)
            else { return .unknown("the engines see other inputs or outputs") }
            options.streams = 1
            options.cacheDirectory = nil
            let theirs = try AnswerProbe(plan: plan, compiled: try file.compile(options)).reference()
            guard !ours.isRandom, !theirs.isRandom else { return .unknown("the same input gives different answers") }
            return difference(ours, theirs).map { .wrong("computes it wrongly: \($0)") } ?? .same
        } catch {
            return .unknown("\(question.other.version): \(error.detail)")
        }
    }

    private static func haveSameTypes(_ a: [TensorPort], _ b: [TensorPort]) -> Bool {
        a.map(\.elementType) == b.map(\.elementType)
            && a.map(\.shape.dimensions.count) == b.map(\.shape.dimensions.count)
    }

    private func difference(_ ours: ReferenceAnswers, _ theirs: ReferenceAnswers) -> String? {
        let isInteger = computesInIntegers
        let outputs = plan.outputs.filter { if case .feature = $0.kind { false } else { true } }
        for pattern in ProbePattern.allCases {
            // A slow model runs on the picture pattern only.
            guard let a = ours.answers[pattern], let b = theirs.answers[pattern], a.count == b.count,
                a.count == outputs.count
            else { continue }
            for (output, (a, b)) in zip(outputs, zip(a, b)) {
                // The numbers of rows found may differ because of rounding; such outputs are not compared.
                guard a.shape == b.shape, a.values.count == b.values.count else { continue }
                let bySteps = isInteger || !output.description.elementType.isFloatingPoint
                let found =
                    bySteps
                    ? cosineDifference(a, b)
                    : a.difference(from: b, type: output.description.elementType) {
                        Self.tolerance * Self.extent(of: $0)
                    }.map {
                        "\($0.0) instead of \($0.1)"
                    }
                if let found {
                    let what = pattern == .noise ? "noise" : "a picture"
                    return "output \"\(output.description.name)\" has \(found) for \(what)"
                }
            }
        }
        return nil
    }

    /// The range of some values; at least a thousandth of the largest magnitude, because nearly equal values differ
    /// only by rounding.
    private static func extent(of values: [Float]) -> Float {
        let finite = values.filter(\.isFinite)
        guard let minimum = finite.min(), let maximum = finite.max() else { return 0 }
        return max(maximum - minimum, max(abs(minimum), abs(maximum)) / 1000)
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

    /// True if the file rounds intermediate values to 8-bit integers.
    private var computesInIntegers: Bool {
        guard let file = try? OpenFile(source.path) else { return false }
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

extension ModelPlan {
    /// True if all inputs can be zeros, with one row where the number of rows is open.
    var hasRowZeros: Bool {
        inputs.allSatisfy {
            $0.description.elementType != .string && $0.description.shape.dimensions.dropFirst().allSatisfy { $0 >= 0 }
        }
    }
}
